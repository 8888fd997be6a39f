import { createCliContext } from './cli-context.ts';

const words = process.argv.slice(2);
const context = createCliContext(process);
if (words.join(' ') === 'usage statusline') {
  // An agent calls it after each of its messages: it must not load the other commands.
  const { showStatusline } = await import('./usage/statusline.ts');
  await showStatusline(context);
} else {
  const { runCommandLine } = await import('./run-command-line.ts');
  process.exitCode = await runCommandLine(context, words);
}
