#!/usr/bin/env node
// Plain JavaScript that any Node understands: it tells those that are too old what to do.
const [major, minor] = process.versions.node.split('.').map(Number);
if (major > 22 || (major === 22 && minor >= 18)) {
  await import('../src/main.ts');
} else {
  console.error(`recount needs Node 22.18 or newer; this is ${process.version}. In its folder, npm start brings its own.`);
  process.exitCode = 1;
}
