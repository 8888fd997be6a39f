import { createCliContext } from './cli-context.ts';
import { runCommandLine } from './run-command-line.ts';

process.exitCode = await runCommandLine(createCliContext(process), process.argv.slice(2));
