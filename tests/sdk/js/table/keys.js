// Keys with every character that is legal and troublesome.
"use strict";

module.exports = [
  "", " ", " both ends ", "a b", "a+b", "a%b", "a%20b", "a%2520b", "%27", "%2F%5C", "100%", "'", "''", "O'Hare", "'quoted'",
  "a','b", "',RowKey='x", "a=b&c=d;e,f", "(a)[b]{c}<d>", '"double"', "@:!$*~^|`", ".", "..", "-_", "$batch", "Tables('x')", "null",
  "Grüße", "e\u0301", "\u00e9", "世界", "😀", "\u200b", "\ufffd", "\u{10ffff}",
];
