// Starts the binary of this platform in place of Node: same arguments, same streams, same signals, same exit code.
"use strict";

const { spawn } = require("node:child_process");

const platform = `${process.platform}-${process.arch}`;

function binary() {
  try {
    return require.resolve(`lazuli-${platform}/bin/lazuli`);
  } catch {
    console.error(
      `lazuli: no binary for ${platform} is installed; ` +
        "if this platform is supported, install again without --omit=optional, else build from source",
    );
    process.exit(1);
  }
}

// `name` becomes argv[0]: started as `azurite`, the binary accepts Azurite's command line.
module.exports = function launch(name) {
  const child = spawn(binary(), process.argv.slice(2), { argv0: name, stdio: "inherit" });
  // A terminal sends Ctrl-C to both processes. The server decides when it ends; this process only waits for it.
  process.on("SIGINT", () => {});
  for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("error", (error) => {
    console.error(`lazuli: ${error.message}`);
    process.exit(1);
  });
  child.on("exit", (code, signal) => {
    if (signal === null) process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
};
