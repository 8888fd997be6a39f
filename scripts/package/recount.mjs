#!/usr/bin/env node
// Plain JavaScript that old versions of Node understand, because it tells them what to do.
const [major, minor] = process.versions.node.split('.').map(Number);
if (major > 22 || (major === 22 && minor >= 18)) {
  const { enableCompileCache } = await import('node:module');
  // Compiled code stays in the system's temporary folder. It halves the time that it takes to start.
  enableCompileCache();
  await import('../../../dist/main.js');
} else {
  console.error(
    `recount needs Node 22.18 or newer; this is ${process.version}. This runs it with Node 24: npx -p node@24 -p recount recount`,
  );
  process.exitCode = 1;
}
