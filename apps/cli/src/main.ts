import { setFlagsFromString } from 'node:v8';

const words = process.argv.slice(2);
const wanted = words.join(' ');
if (wanted === 'usage statusline') {
  // Agents call it after each of their messages, so it loads nothing else.
  const { showStatusline } = await import('./usage/statusline.ts');
  await showStatusline(process.env, process.stdout);
} else if (wanted === 'budget check --hook') {
  // Agents wait for it before each prompt.
  const { runBudgetHook } = await import('./data-directory/budget-memory.ts');
  await runBudgetHook(process.env, process.stdout);
} else {
  const isShown =
    words[0] === 'usage' && (await import('./usage/remembered-report.ts')).showRememberedReport(process, words);
  if (!isShown) await run();
}

async function run(): Promise<void> {
  // The call is over before V8's slowest compiler has paid for itself. Without it, 466 MB take a sixth less processor time.
  if (words[0] === 'usage') setFlagsFromString('--no-opt');
  const { createCliContext } = await import('./terminal/cli-context.ts');
  const context = createCliContext(process);
  context.words = words;
  if (wanted === 'watch') {
    // Runs for weeks, so it keeps no other command in memory.
    const { runWatch } = await import('./collector/watch.ts');
    process.exitCode = await runWatch(context);
  } else {
    const { runCommandLine } = await import('./run-command-line.ts');
    process.exitCode = await runCommandLine(context, words);
  }
}
