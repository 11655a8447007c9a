//! The help of Azurite's programs: the flags of Azurite that have an effect here, and those that have none.

use lazuli_model::Service;

use super::Program;

/// Flags of all programs that have an effect.
const FLAGS: &str = "\
\x20 -l, --location <DIR>           Directory for the data [default: the current directory]
      --inMemoryPersistence      Store nothing on disk
  -s, --silent                   Print nothing but errors and the ready lines
  -d, --debug <FILE>             Append the debug log to this file, with a line for each request
      --oauth basic              Accept bearer tokens over https; signatures are not checked
      --cert <FILE>              Serve https with this certificate: PEM with --key, PFX with --pwd
      --key <FILE>               Private key of the certificate (PEM)
      --pwd <PASSWORD>           Password of the certificate (PFX)
      --disableProductStyleUrl   Read the account from the path only, not from the host name
  -h, --help                     Print help
  -v, --version                  Print the version of Lazuli
";

/// The help of a program.
pub fn text(program: Program) -> String {
    let name = program.name();
    let services = Service::ALL.into_iter().filter(|service| program.serves(*service));
    let services: Vec<Service> = services.collect();
    let flags = |service: &Service| {
        let (label, title, port) = (service.label(), service.title(), service.default_port());
        let host = format!("--{label}Host <ADDRESS>");
        let number = format!("--{label}Port <PORT>");
        format!(
            "      {host:<26} Address of the {title} service [default: 127.0.0.1]\n      \
             {number:<26} Port of the {title} service; 0 picks a free one [default: {port}]\n"
        )
    };
    let subdirectory = program.subdirectory();
    let keep_alive = services.iter().map(|service| format!("--{}KeepAliveTimeout", service.label()));
    format!(
        "Lazuli, started as Azurite: takes Azurite's command line and prints its ready lines.\n\n\
         Usage: {name} [OPTIONS]\n\n\
         Options:\n{}{}\n\
         Accepted without effect: -L, --loose, --skipApiVersionCheck, --disableTelemetry,\n\
         --extentMemoryLimit, {}\n\n\
         The data is in the subdirectory {subdirectory} of the location. To import data of Azurite, run\n\
         lazuli import --from-azurite DIR --location DIR/{subdirectory} while neither program runs.\n\
         AZURITE_ACCOUNTS=NAME:KEY[:KEY];... replaces the development account. All flags of lazuli serve\n\
         work too: see lazuli serve --help.",
        services.iter().map(flags).collect::<String>(),
        FLAGS,
        keep_alive.collect::<Vec<_>>().join(", "),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_program_lists_the_flags_of_its_services() {
        let all = text(Program::Azurite);
        for flag in ["--blobHost", "--queuePort", "--tablePort", "--inMemoryPersistence", "--loose", "--pwd"]
        {
            assert!(all.contains(flag), "{flag}: {all}");
        }
        let queue = text(Program::AzuriteQueue);
        assert!(queue.starts_with("Lazuli") && queue.contains("Usage: azurite-queue"), "{queue}");
        assert!(queue.contains("--queuePort <PORT>") && queue.contains("[default: 10001]"), "{queue}");
        assert!(!queue.contains("--blob") && !queue.contains("--table"), "{queue}");
        assert!(all.lines().all(|line| line.len() <= 100), "{all}");
    }
}
