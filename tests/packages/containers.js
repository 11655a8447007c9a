// A substitute for Testcontainers that starts processes on this machine instead of containers. It has what
// the module for Azurite uses, and nothing else.
"use strict";

const { spawn } = require("node:child_process");
const { mkdtempSync, rmSync, writeFileSync } = require("node:fs");
const { tmpdir } = require("node:os");
const { basename, join } = require("node:path");

const Wait = {
  forLogMessage: (pattern) => [pattern],
  forAll: (strategies) => strategies.flat(),
};

class GenericContainer {
  environment = {};
  files = [];

  withEntrypoint([program]) {
    if (program !== "azurite") throw new Error(`unexpected program: ${program}`);
    return this;
  }
  withWaitStrategy(patterns) {
    this.patterns = patterns;
    return this;
  }
  withStartupTimeout(milliseconds) {
    this.timeout = milliseconds;
    return this;
  }
  withCopyContentToContainer(files) {
    this.files.push(...files);
    return this;
  }
  withCommand(words) {
    this.words = words;
    return this;
  }
  withExposedPorts() {
    return this;
  }
  withEnvironment(environment) {
    Object.assign(this.environment, environment);
    return this;
  }

  // Resolves when every pattern has matched a line, as in the original.
  async start() {
    const directory = mkdtempSync(join(tmpdir(), "lazuli-containers-"));
    for (const { content, target, mode } of this.files) {
      writeFileSync(join(directory, basename(target)), content, { mode });
    }
    const local = (word) => (this.files.some((file) => file.target === word) ? join(directory, basename(word)) : word);
    const child = spawn(process.env.AZURITE, this.words.map(local), {
      cwd: directory,
      env: { ...process.env, ...this.environment },
    });
    let output = "";
    await new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`not ready in time: ${output}`)), this.timeout);
      const read = (piece) => {
        output += piece;
        const lines = output.split("\n").slice(0, -1);
        if (this.patterns.every((pattern) => lines.some((line) => pattern.test(line)))) {
          clearTimeout(timer);
          resolve();
        }
      };
      child.stdout.on("data", read);
      child.stderr.on("data", read);
      child.on("exit", (code) => reject(new Error(`ended with ${code}: ${output}`)));
    });
    return { child, directory, output };
  }
}

class AbstractStartedContainer {
  constructor(started) {
    this.started = started;
  }
  getHost() {
    return "127.0.0.1";
  }
  getMappedPort(port) {
    return port;
  }
  async stop() {
    const { child, directory } = this.started;
    const code = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGTERM");
    const ended = await code;
    rmSync(directory, { recursive: true });
    if (ended !== 0) throw new Error(`stopped with ${ended}`);
  }
}

const hasHostBinding = (port) => typeof port === "object";
const getContainerPort = (port) => (hasHostBinding(port) ? port.container : port);

module.exports = { AbstractStartedContainer, GenericContainer, Wait, getContainerPort, hasHostBinding };
