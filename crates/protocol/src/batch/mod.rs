//! Entity group transactions as multipart bodies, in and out.
