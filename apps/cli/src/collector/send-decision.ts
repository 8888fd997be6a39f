import { sep } from 'node:path';
import { readBeginning, type SendDecision, toUsageOnly } from '@recount/collect';
import { IDENTIFY_HEAD_BYTES } from '@recount/core';
import type { Connection } from '../connection/connection.ts';

/** Longer lines are searched for secrets in parts, as on the server. */
const MAX_LINE_BYTES = 64 * 1024 * 1024;
const ROOT = /^(?:\/|[A-Za-z]:\\)$/;

/**
 * The part of a session that may leave this machine, by its working directory; undefined if there are no restrictions.
 * If any folder is excluded, a session that does not state where it ran stays here, because it may have been there.
 */
export function createSendDecider({
  excludes,
  usageOnly = [],
  redacts = false,
}: Pick<Connection, 'excludes' | 'usageOnly' | 'redacts'>): ((path: string, head: Buffer) => SendDecision) | undefined {
  const usageOnlyEverywhere = usageOnly.some((folder) => ROOT.test(folder));
  const goesByFolder = excludes.length > 0 || (usageOnly.length > 0 && !usageOnlyEverywhere);
  if (!goesByFolder && usageOnly.length === 0 && !redacts) return undefined;
  return (path, head) => {
    const { format, workingDirectory: project } = readBeginning(path, head.subarray(0, IDENTIFY_HEAD_BYTES));
    if (goesByFolder && project === null)
      return { kind: 'nothing', reason: 'it does not name the folder where it ran' };
    const excluded = excludes.find((folder) => isBelow(project ?? '', folder));
    if (excluded !== undefined) return { kind: 'nothing', reason: `excluded: ${excluded}` };
    if (usageOnlyEverywhere || usageOnly.some((folder) => isBelow(project ?? '', folder))) {
      const rewrite = toUsageOnly(format);
      if (rewrite === undefined) return { kind: 'nothing', reason: 'its usage cannot be separated from its texts' };
      return { kind: 'rewritten', what: 'usage only', rewrite, takesAttachments: false };
    }
    return redacts
      ? { kind: 'rewritten', what: 'without secrets', rewrite: redact, takesAttachments: true }
      : { kind: 'everything' };
  };
}

const isBelow = (directory: string, folder: string): boolean =>
  `${directory}${sep}`.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`);

/** The secret scanner is loaded on demand. */
async function* redact(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const { TranscriptRedactor } = await import('@recount/ingest/secrets');
  const redactor = new TranscriptRedactor({ maxLineBytes: MAX_LINE_BYTES, onFinding: () => undefined });
  yield* redactor.redact(source);
}
