#!/usr/bin/env node
// Plain JavaScript that any Node understands. It tells those that are too old what to do.
const [major, minor] = process.versions.node.split('.').map(Number);
if (major > 22 || (major === 22 && minor >= 18)) {
  const { enableCompileCache } = await import('node:module');
  if (['up', 'api', 'worker'].includes(process.argv[2])) {
    // For programs that run for long. V8 lets garbage grow to three times what lives, 100 MB of a worker's memory; to collect
    // at half as much costs no processor time that can be measured, as most of it is done beside the program.
    const { setFlagsFromString } = await import('node:v8');
    setFlagsFromString('--heap-growing-percent=50');
  }
  // Saves the stripping of types (half of the time that it takes to start, and 20 MB).
  enableCompileCache(`${import.meta.dirname}/../node_modules/.cache/node`);
  await import('../src/main.ts');
} else {
  console.error(
    `recount needs Node 22.18 or newer; this is ${process.version}. In its folder, npm start installs its own.`,
  );
  process.exitCode = 1;
}
