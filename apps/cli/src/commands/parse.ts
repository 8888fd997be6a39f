import type { ParseOptions } from '@recount/core';
import { Command, Option } from 'commander';
import { type CliContext, note, print } from '../terminal/cli-context.ts';
import { CliError } from '../terminal/cli-error.ts';
import { wholeNumber } from '../terminal/option-values.ts';
import { toPrintWidth } from '../terminal/print-width.ts';
import { TIME_ZONE_HELP, type TimeZoneOptions, toTimeZone } from '../terminal/time-zone.ts';
import { writeChunks } from '../terminal/write-chunks.ts';

interface ParseCommandOptions extends TimeZoneOptions {
  format?: 'json' | 'ndjson' | 'table';
  sessionId?: string;
  maxLineBytes?: number;
  usageFrom: 'first' | 'final';
  limit: number;
}

const MAX_LINE_BYTES = 256 * 1024 * 1024;
const UNNAMED_SESSION = 'stdin';

export function createParseCommand(context: CliContext): Command {
  return new Command('parse')
    .description('Parse one transcript and print its contents; needs no database')
    .argument('<file>', 'a transcript, also .gz or .zst, a session of an agent’s database, or - for stdin')
    .addOption(
      new Option(
        '--format <format>',
        'table is readable; json has the whole result; ndjson prints one object per line, of any length',
      )
        .choices(['json', 'ndjson', 'table'])
        .default(undefined, 'table on a terminal, else json'),
    )
    .option('--session-id <id>', 'override the detected session id; for a database, the session to read')
    .option(
      '--max-line-bytes <n>',
      'longer lines are errors (default: of lines over 5 MiB, long texts are cut)',
      wholeNumber(1, MAX_LINE_BYTES),
    )
    .addOption(
      new Option('--usage-from <line>', 'when a response repeats usage on several lines, use the first or final one')
        .choices(['first', 'final'])
        .default('final'),
    )
    .option('--limit <n>', 'messages and issues in the table', wholeNumber(1, 1_000_000), 50)
    .option('--tz <zone>', TIME_ZONE_HELP)
    .option('--utc', 'the same as --tz UTC')
    .addHelpText(
      'after',
      `
Unreadable lines do not make it fail: they are listed as errors, with their place. Exits with 1 if the file is not
recognised as a transcript.

Examples:
  $ recount parse session.jsonl
  $ recount parse session.jsonl.gz --format json | jq .stats
  $ recount parse ~/.local/share/opencode/opencode.db --session-id ses_…
  $ zcat big.jsonl.gz | recount parse - --format ndjson | jq -c 'select(.kind == "issue")'`,
    )
    .action((file: string, options: ParseCommandOptions) => parse(context, file, options));
}

async function parse(context: CliContext, file: string, options: ParseCommandOptions): Promise<void> {
  const [
    { describeRefusal, parseTranscript },
    { createListPrices },
    { openInput },
    { toJson, toNdjson },
    { formatResult },
  ] = await Promise.all([
    import('@recount/core'),
    import('@recount/prices'),
    import('../parse/open-input.ts'),
    import('../parse/to-json.ts'),
    import('../parse/format-result.ts'),
  ]);
  const { identity, isEmpty, chunks } = await openInput(context, file, options.sessionId);
  const { format, isSubagent } = identity;
  if (isEmpty) throw new CliError(`${file}: ${describeRefusal('empty')}`);
  const sessionId = options.sessionId ?? identity.sessionId ?? UNNAMED_SESSION;
  const { usageFrom, maxLineBytes } = options;
  const longLines = maxLineBytes === undefined ? 'cut' : 'skip';
  const parseOptions: ParseOptions = {
    format,
    isSubagent,
    usageFrom,
    maxLineBytes,
    longLines,
    prices: createListPrices(),
  };
  if (!identity.isRecognised) {
    note(
      context,
      `${file}: ${describeRefusal(identity.encoding ?? (identity.isPromptHistory ? 'prompt-history' : 'unknown-format'))}`,
    );
    context.exitCode = 1;
  }
  const output = options.format ?? (context.stdout.isTTY ? 'table' : 'json');
  if (output === 'ndjson') return await writeChunks(context.stdout, toNdjson(sessionId, chunks, parseOptions));
  const result = await parseTranscript(sessionId, chunks, parseOptions);
  if (output === 'json') return await writeChunks(context.stdout, toJson(result));
  const layout = {
    sessionId,
    limit: options.limit,
    timeZone: toTimeZone(options),
    maxWidth: toPrintWidth(context),
  };
  for (const line of formatResult(result, layout)) print(context, line);
}
