import type { Issue, Notice, NoticeList, SessionDetail, Transcript, TranscriptList } from '@recount/contract';
import { Command } from 'commander';
import type { ApiClient } from '../connection/api-client.ts';
import { listPages } from '../connection/list-pages.ts';
import { addPlaceOptions, type PlaceOptions } from '../connection/place-options.ts';
import { withClient } from '../connection/with-client.ts';
import { describeNotice } from '../report/describe-notice.ts';
import { type CliContext, note, print, printJson } from '../terminal/cli-context.ts';
import { formatCount, formatCountOf } from '../terminal/format-values.ts';
import { wholeNumber } from '../terminal/option-values.ts';
import { toPrintWidth } from '../terminal/print-width.ts';
import { toShellWord } from '../terminal/shell-word.ts';
import { cutStartToWidth, toSingleLine, wrapToWidth } from '../terminal/text-width.ts';

interface IssuesOptions extends PlaceOptions {
  warnings?: boolean;
  lines: number;
  limit: number;
}

interface FaultyTranscript {
  transcript: Transcript;
  issues: Issue[];
}

const PAGE_LIMIT = 500;
const MAX_LINES = 500;
const MAX_LIMIT = 100_000;

export function createIssuesCommand(context: CliContext): Command {
  return addPlaceOptions(
    new Command('issues')
      .description('Transcripts that failed or have faulty lines, with names, lines and reasons')
      .argument('[session]', 'only this session; the beginning of its id is enough')
      .option('--warnings', 'also transcripts with nothing but warnings')
      .option('--lines <n>', 'issues shown of each transcript', wholeNumber(0, MAX_LINES), 5)
      .option('--limit <n>', 'transcripts shown', wholeNumber(1, MAX_LIMIT), 50)
      .option('--json', 'print JSON'),
  )
    .addHelpText(
      'after',
      `
A notice names what recount does not read or does not know, such as the line types of a newer version of an agent: the
raw bytes are kept, and a newer recount may read them (recount requeue --outdated).

Files that were never stored are not known here: \`recount backfill --verbose\` names what it skips.

Examples:
  $ recount issues
  $ recount issues 0fae0449 --warnings --lines 100`,
    )
    .action((session: string | undefined, options: IssuesOptions) => showIssues(context, session, options));
}

async function showIssues(context: CliContext, session: string | undefined, options: IssuesOptions): Promise<void> {
  await withClient(context, options, async (client) => {
    const { found, count } = await readFaulty(client, session, options);
    const notices = session === undefined ? ((await client.request<NoticeList>('/v1/notices'))?.notices ?? []) : [];
    if (options.json) return printJson(context, { transcripts: found, count, notices });
    const maxWidth = toPrintWidth(context);
    for (const each of found) for (const line of formatFaulty(each, maxWidth)) print(context, line);
    for (const line of formatNotices(notices, options.limit)) {
      for (const part of wrapToWidth(line, maxWidth)) print(context, part);
    }
    if (count === 0)
      note(context, options.warnings ? 'No issues.' : 'No failures and no faulty lines; --warnings shows minor ones.');
    if (count > found.length)
      note(context, `${formatCount(found.length)} of ${formatCount(count)}; --limit shows more.`);
  });
}

async function readFaulty(
  client: ApiClient,
  session: string | undefined,
  { warnings = false, lines, limit }: IssuesOptions,
): Promise<{ found: FaultyTranscript[]; count: number }> {
  const id =
    session &&
    ((await (await import('../show/read-session.ts')).readSession(client, session)) as SessionDetail).session_id;
  const isFaulty = ({ status, error_count, warning_count }: Transcript): boolean =>
    status === 'failed' || error_count > 0 || (warnings && warning_count > 0);
  const found: FaultyTranscript[] = [];
  let count = 0;
  const pages = listPages((cursor) =>
    client.request<TranscriptList>('/v1/transcripts', { query: { session_id: id, limit: PAGE_LIMIT, cursor } }),
  );
  for await (const { transcripts } of pages) {
    for (const transcript of transcripts) {
      if (!isFaulty(transcript)) continue;
      count += 1;
      if (found.length < limit) found.push({ transcript, issues: await readIssues(client, transcript, lines) });
    }
  }
  return { found, count };
}

async function readIssues(client: ApiClient, { id }: Transcript, limit: number): Promise<Issue[]> {
  if (limit === 0) return [];
  const page = await client.request<{ issues: Issue[] }>(`/v1/transcripts/${id}/issues`, {
    query: { limit },
  });
  return page?.issues ?? [];
}

function formatNotices(notices: readonly Notice[], limit: number): string[] {
  if (notices.length === 0) return [];
  const lines = notices.slice(0, limit).map((notice) => {
    const { agent_version: agentVersion, transcript_count: transcriptCount, occurrence_count } = notice;
    return `notice: ${describeNotice({ ...notice, agentVersion, transcriptCount, occurrenceCount: occurrence_count })}`;
  });
  const rest = notices.length - lines.length;
  return rest > 0 ? [...lines, `… and ${formatCount(rest)} more notices: --limit N shows more`] : lines;
}

function formatFaulty({ transcript, issues }: FaultyTranscript, maxWidth: number): string[] {
  const {
    path,
    id,
    session_id: session,
    status,
    failure_reason: reason,
    error_count: errors,
    warning_count: warnings,
  } = transcript;
  const counts = `${formatCountOf(errors, 'error')}, ${formatCountOf(warnings, 'warning')}`;
  const heading = status === 'failed' ? `failed: ${toSingleLine(reason ?? 'unknown reason')}` : counts;
  const rest = errors + warnings - issues.filter(({ severity }) => severity !== 'notice').length;
  const place = cutStartToWidth(toSingleLine(path ?? id), maxWidth);
  const isShort = place.length + heading.length + 2 <= maxWidth;
  const indent = (lines: string[]): string[] => lines.map((line) => `  ${line}`);
  const wrap = (text: string): string[] => indent(wrapToWidth(text, maxWidth - 2));
  return [
    ...(isShort ? [`${place}  ${heading}`] : [place, ...wrap(heading)]),
    ...wrap(`session ${toSingleLine(session)}, transcript ${id}`),
    ...issues.flatMap((issue) => wrap(`line ${issue.line_number}: ${issue.severity}: ${toSingleLine(issue.message)}`)),
    ...(issues.length > 0 && rest > 0
      ? [`  … ${formatCount(rest)} more: recount issues ${toShellWord(session)} --lines N`]
      : []),
  ];
}
