#!/usr/bin/env node
// Starts the executable of the package that was installed for this machine, and ends as it does.
'use strict';

const { spawn } = require('node:child_process');
const os = require('node:os');

const name = `@qlio/cli-${process.platform}-${process.arch}`;

function find() {
  try {
    return require.resolve(`${name}/bin/qlio`);
  } catch {
    console.error(
      `qlio: there is no executable for ${process.platform} on ${process.arch}: the package ${name} is not installed. ` +
        'It is an optional dependency; install without --omit=optional, on a system that it exists for.',
    );
    process.exit(2);
  }
}

const child = spawn(find(), process.argv.slice(2), { stdio: 'inherit' });
child.on('error', (error) => {
  console.error(`qlio: cannot start: ${error.message}`);
  process.exit(2);
});

// What is sent to this process is meant for the executable. Those of the terminal reach it anyway; it ends first.
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR2'];
for (const signal of signals) process.on(signal, () => child.kill(signal));

child.on('exit', (code, signal) => {
  if (signal === null) process.exit(code);
  for (const known of signals) process.removeAllListeners(known);
  process.kill(process.pid, signal);
  // Where the signal does not end it.
  process.exit(128 + os.constants.signals[signal]);
});
