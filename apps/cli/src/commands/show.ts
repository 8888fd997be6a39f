import { styleText } from 'node:util';
import type { ReconciliationReport, SessionCosts, SessionDetail } from '@recount/contract';
import { Command } from 'commander';
import type { ApiClient } from '../connection/api-client.ts';
import { addPlaceOptions, type PlaceOptions } from '../connection/place-options.ts';
import { withClient } from '../connection/with-client.ts';
import { type CliContext, print, printJson, START_COMMAND } from '../terminal/cli-context.ts';
import { CliError, UsageError } from '../terminal/cli-error.ts';
import { formatCountOf } from '../terminal/format-values.ts';
import { toTerminalText } from '../terminal/guard-terminal.ts';
import { wholeNumber } from '../terminal/option-values.ts';
import { printPaged } from '../terminal/pager.ts';
import { toPrintWidth } from '../terminal/print-width.ts';
import { addTimeZoneOptions, type TimeZoneOptions, toTimeZone } from '../terminal/time-zone.ts';

interface ShowCommandOptions extends PlaceOptions, TimeZoneOptions {
  line?: number;
  tools?: boolean;
  raw?: boolean;
  cost?: boolean;
  markdown?: boolean;
  subagents: boolean;
  pager: boolean;
}

const MAX_LINE = 2 ** 31 - 1;
const DEFAULT_WIDTH = 100;

export function createShowCommand(context: CliContext): Command {
  return addPlaceOptions(
    addTimeZoneOptions(
      new Command('show')
        .description('Read a session, with prompts, answers, tool calls and results, sub-agents, times and cost')
        .argument('<session>', 'id, or the beginning of it, as `recount sessions` prints it')
        .option('--line <n>', 'the messages around this line of the transcript', wholeNumber(1, MAX_LINE))
        .option('--tools', 'whole inputs and results of tools, and thinking')
        .option('--no-subagents', 'leave out the conversations of sub-agents')
        .option('--raw', 'print the transcript as it was uploaded, or with --line that line')
        .option('--cost', 'its cost breakdown, as in `recount why`')
        .option('--markdown', 'print Markdown')
        .option('--json', 'print JSON: the session, its messages, its sub-agents')
        .option('--no-pager', 'print without PAGER'),
    ),
  )
    .addHelpText(
      'after',
      `
On a terminal it is shown by the program in PAGER, by default less.

Examples:
  $ recount show 0fae0449
  $ recount show 0fae0449 --line 212 --tools
  $ recount show 0fae0449 --markdown > session.md
  $ recount show 0fae0449 --raw | jq .type`,
    )
    .action((session: string, options: ShowCommandOptions) => show(context, session, options));
}

export function createWhyCommand(context: CliContext): Command {
  return addPlaceOptions(
    addTimeZoneOptions(
      new Command('why')
        .description(
          'Break down a session’s cost by class and rate, the most expensive turns, and shared or uncertain parts',
        )
        .argument('<session>', 'id, or the beginning of it, as `recount sessions` prints it')
        .option('--json', 'print JSON'),
    ),
  )
    .addHelpText(
      'after',
      `
Examples:
  $ recount sessions --sort cost --limit 3
  $ recount why 0fae0449`,
    )
    .action((session: string, options: ShowCommandOptions) => show(context, session, { ...options, cost: true }));
}

async function show(context: CliContext, name: string, options: ShowCommandOptions): Promise<void> {
  const formats = [options.raw, options.cost, options.markdown].filter(Boolean).length;
  if (formats > 1) throw new UsageError('Pass only one of --raw, --cost and --markdown.');
  const { readSession } = await import('../show/read-session.ts');
  await withClient(context, options, async (client) => {
    const session = await readSession(client, name);
    if (options.raw) return await showRaw(context, session, options);
    if (options.cost) return await showCosts(context, client, session, options);
    await showConversation(context, client, session, options);
  });
}

async function showConversation(
  context: CliContext,
  client: ApiClient,
  session: SessionDetail,
  options: ShowCommandOptions,
): Promise<void> {
  const timeZone = toTimeZone(options);
  if (options.markdown) {
    const { readDocument } = await import('../show/read-session.ts');
    const request = { format: 'markdown', time_zone: timeZone, redact: 'false' } as const;
    const subagents = String(options.subagents) as 'true' | 'false';
    context.stdout.write(await readDocument(client, session, { ...request, subagents }));
    return;
  }
  const [{ loadSession }, { formatConversation }] = await Promise.all([
    import('../show/read-session.ts'),
    import('../show/format-conversation.ts'),
  ]);
  const signal = context.listenForInterruption();
  const loaded = await loadSession(client, session, { hasSubagents: options.subagents, signal });
  if (options.json) return printJson(context, loaded);
  const width = toPrintWidth(context, DEFAULT_WIDTH);
  const lines = formatConversation(loaded, {
    timeZone,
    width,
    hasWholeTools: options.tools ?? false,
    line: options.line,
  });
  const stream = context.stdout;
  const styled = lines.map(({ text, style }) =>
    style === undefined ? toTerminalText(text) : styleText(style, toTerminalText(text), { stream }),
  );
  await printPaged(context, styled, options.pager);
}

async function showCosts(
  context: CliContext,
  client: ApiClient,
  session: SessionDetail,
  options: ShowCommandOptions,
): Promise<void> {
  const { formatCosts } = await import('../show/format-costs.ts');
  const path = `/v1/sessions/${encodeURIComponent(session.session_id)}/costs`;
  const costs = await client.request<SessionCosts>(path);
  if (costs === undefined)
    throw new CliError(`${client.place.url} does not support costs of sessions. Is it an older version?`);
  const query = { session_id: session.session_id };
  const report = await client.request<ReconciliationReport>('/v1/analytics/reconciliation', { query });
  const reconciliation = report?.rows[0];
  if (options.json) {
    const { usage, cost_estimate_usd, unpriced_count } = session;
    return printJson(context, {
      cost_estimate_usd,
      unpriced_count,
      ...costs,
      usage,
      reconciliation: reconciliation ?? null,
    });
  }
  const layout = { timeZone: toTimeZone(options), maxWidth: toPrintWidth(context) };
  for (const { text, style } of formatCosts({ session, costs, reconciliation }, layout)) {
    context.stdout.writeStyled(
      `${style === undefined ? text : styleText(style, toTerminalText(text), { stream: context.stdout })}\n`,
    );
  }
}

/** The bytes as uploaded, of the transcript, or of one of its lines. */
async function showRaw(
  context: CliContext,
  session: SessionDetail,
  { line, server, key }: ShowCommandOptions,
): Promise<void> {
  const { findApi } = await import('../connection/find-api.ts');
  const place = await findApi(
    context,
    { ...(server !== undefined && { server }), ...(key !== undefined && { key }) },
    { isQuiet: true },
  );
  if (place === undefined)
    throw new CliError(`Raw bytes come from a server. Start one with \`${START_COMMAND}\`, or name one with --server.`);
  const { download } = await import('../connection/download.ts');
  const signal = context.listenForInterruption();
  const response = await download(place, `/v1/transcripts/${session.primary_transcript_id}/raw`, { signal });
  if (line === undefined) {
    for await (const chunk of response) {
      if (!context.stdout.write(chunk)) await new Promise((resolve) => context.stdout.once('drain', resolve));
    }
    return;
  }
  const { createInterface } = await import('node:readline');
  let number = 0;
  for await (const text of createInterface({ input: response, crlfDelay: Number.POSITIVE_INFINITY })) {
    number += 1;
    if (number === line) return print(context, text);
  }
  throw new UsageError(`The transcript has only ${formatCountOf(number, 'line')}.`);
}
