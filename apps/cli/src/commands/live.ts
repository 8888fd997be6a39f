import { Command } from 'commander';
import { type CliContext, print } from '../cli-context.ts';
import type { ApiOptions } from '../connection/find-api.ts';

interface FlushOptions extends ApiOptions {
  json?: boolean;
}

export function createLiveCommand(context: CliContext): Command {
  const live = new Command('live').description('Streams recorded by `recount run` and `recount tail`');
  live
    .command('flush')
    .description('Send what could not be sent while it was recorded')
    .option(
      '--server <url>',
      'API whose streams to send, beside those of the local installation; default RECOUNT_SERVER',
    )
    .option('--key <key>', 'API key; better in RECOUNT_API_KEY, where other users of the machine do not see it')
    .option('--json', 'print one JSON object a stream')
    .addHelpText(
      'after',
      `
Ends with 1 where something still waits or is refused. A server's streams need its --server and key: keys are not kept.

Examples:
  $ recount live flush
  $ RECOUNT_API_KEY=rk_… recount live flush --server https://recount.example.com`,
    )
    .action((options: FlushOptions) => flush(context, options));
  return live;
}

async function flush(context: CliContext, options: FlushOptions): Promise<void> {
  const [{ toSpoolFolder }, { findRecordTarget, toTargetName }, { flushSpool }, { formatBytes }] = await Promise.all([
    import('../live/live-setup.ts'),
    import('../live/record-target.ts'),
    import('../live/flush-spool.ts'),
    import('../terminal/format-values.ts'),
  ]);
  const target = await findRecordTarget(context, options);
  let count = 0;
  for await (const stream of flushSpool(toSpoolFolder(context), target, context.listenForInterruption())) {
    const { streamId, sizeBytes, note, state, reason } = stream;
    count += 1;
    if (state !== 'sent') context.exitCode = 1;
    const place = note === undefined ? '' : toTargetName(note.target);
    if (options.json) {
      const target = note?.target ?? null;
      print(context, JSON.stringify({ stream_id: streamId, size_bytes: sizeBytes, target, state, reason }));
    } else {
      const why = reason === null ? '' : ` (${reason})`;
      print(context, `${streamId}  ${formatBytes(sizeBytes)}  ${state}  ${place}${why}`);
    }
  }
  if (count === 0 && !options.json) print(context, 'Nothing waits.');
}
