const words = process.argv.slice(2);
if (words.join(' ') === 'usage statusline') {
  // An agent calls it after each of its messages: it loads nothing else.
  const { showStatusline } = await import('./usage/statusline.ts');
  await showStatusline(process.env, process.stdout);
} else {
  const [{ createCliContext }, { runCommandLine }] = await Promise.all([
    import('./cli-context.ts'),
    import('./run-command-line.ts'),
  ]);
  process.exitCode = await runCommandLine(createCliContext(process), words);
}
