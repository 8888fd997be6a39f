import { describeOldPrices } from '@recount/contract/price-words';
import { formatBytes, formatCount, formatCountOf, formatTimestamp } from '../terminal/format-values.ts';
import { cutStartToWidth, toSingleLine, wrapToWidth } from '../terminal/text-width.ts';
import { MAX_FAILURES, type Status } from './status.ts';

const NAME_WIDTH = 12;

/** Lines for people, of at most `maxWidth` columns if their words allow. */
export function formatStatus(
  status: Status,
  { timeZone, maxWidth, nowMs = Date.now() }: { timeZone: string; maxWidth: number; nowMs?: number },
): string[] {
  const { transcripts, live, data_directory: directory } = status;
  const { queued = 0, processing = 0, ingested = 0, superseded = 0, failed = 0 } = transcripts;
  const toSection = (name: string, lines: readonly string[]): string[] =>
    lines
      .flatMap((line) => wrapToWidth(line, maxWidth - NAME_WIDTH))
      .map((line, index) => (index === 0 ? name : '').padEnd(NAME_WIDTH) + line);
  const failures = status.last_failures.flatMap(({ created_at, path, transcript_id, reason }) => {
    const time = formatTimestamp(created_at, timeZone);
    const place = cutStartToWidth(toSingleLine(path ?? transcript_id), maxWidth - NAME_WIDTH - time.length - 2);
    return [`${time}  ${place}`, toSingleLine(reason ?? 'for an unknown reason')];
  });
  if (failed > MAX_FAILURES) failures.push('`recount issues` lists all.');
  return [
    ...toSection('Running', [toRunningText(status)]),
    ...(directory === null ? [] : toSection('Data', [directory])),
    ...(status.raw_store_fault === null ? [] : toSection('Raw store', [toSingleLine(status.raw_store_fault)])),
    ...toSection('Queue', [`${formatCount(queued)} waiting, ${formatCount(processing)} under way`]),
    ...toSection('Transcripts', [
      `${formatCount(ingested)} ingested, ${formatCount(superseded)} part of longer ones, ${formatCount(failed)} failed`,
    ]),
    ...toSection('Live', [`${formatCountOf(live.running_streams, 'agent')} recorded now`]),
    ...toSection('Search', [toSearchText(status)]),
    ...toSection('Disk', toDiskLines(status)),
    ...toSection('Prices', toPriceLines(status, nowMs)),
    ...toSection('Failed', failures),
  ];
}

function toRunningText({ running }: Status): string {
  if (running === null) return 'no local installation; this is the database of DATABASE_URL';
  const { pid, url, is_ready: isReady } = running;
  const place = [pid === null ? '' : `process ${pid}`, url === null ? '' : `at ${url}`].filter((text) => text !== '');
  return place.join(' ') + (isReady ? '' : ', not ready');
}

function toSearchText({ search: { waiting_sessions: waiting, failing_sessions: failing } }: Status): string {
  if (waiting === 0) return 'complete';
  return `${formatCountOf(waiting, 'session')} not yet indexed, ${formatCount(failing)} of them failing`;
}

function toPriceLines({ prices }: Pick<Status, 'prices'>, nowMs: number): string[] {
  if (prices == null) return [];
  const { version, date, file } = prices;
  const old = describeOldPrices(date, nowMs);
  return [
    `${version}, of ${date}`,
    ...(file === null || file.error !== null ? [] : [`with ${toSingleLine(file.location)}`]),
    ...((file?.invalid_count ?? 0) > 0
      ? [`without ${formatCountOf(file?.invalid_count ?? 0, 'invalid entry', 'invalid entries')} of it`]
      : []),
    ...(file === null || file.error === null ? [] : [toSingleLine(file.error)]),
    ...(old === undefined ? [] : [old]),
  ];
}

function toDiskLines({ disk }: Status): string[] {
  const { database_bytes: database, search_bytes: search, wal_bytes: wal, raw_bytes: raw, spool_bytes: spool } = disk;
  return [
    ...(database === null ? [] : [`${formatBytes(database)} database (${formatBytes(search ?? 0)} of it search)`]),
    ...(wal === null ? [] : [`${formatBytes(wal)} write-ahead log`]),
    ...(raw === null ? [] : [`${formatBytes(raw)} raw transcripts`]),
    `${formatBytes(spool)} spool (recorded here and not sent yet)`,
  ];
}
