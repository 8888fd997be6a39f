import type { Usage } from '../../records/usage.ts';

/** A step of the loop, or a record, whose mirror has not come yet. */
interface OpenMirror {
  /** '' for a record that may be of the step, and counts by itself. */
  responseId: string;
  signature: string;
}

/**
 * Kimi Code states the usage of a step twice, at its end, and in a `usage.record` after it (protocol 1.4) or before it
 * (1.5), and neither names the other.
 */
export interface KimiMirrors {
  /** The step that has begun and not ended. */
  openStep: string | null;
  /** Records since it began; the first has the step's key. */
  openRecords: OpenMirror[];
  /** The latest steps that ended without a record. */
  endedSteps: OpenMirror[];
}

/** The role of a usage (a separate response, or the mirror of one that is counted). */
export interface MirrorMatch {
  /** Null if it is of no step. */
  responseId: string | null;
  isMirror: boolean;
  /** The counts of a mirror that differs. */
  other?: string | undefined;
}

const MAX_OPEN = 16;

export function createKimiMirrors(): KimiMirrors {
  return { openStep: null, openRecords: [], endedSteps: [] };
}

export function beginStep(mirrors: KimiMirrors, uuid: string | null): void {
  mirrors.openStep = uuid;
  mirrors.openRecords = [];
}

/** Matches the usage at a step's end with the records that came before it. */
export function endStep(mirrors: KimiMirrors, uuid: string | null, usage: Usage): MirrorMatch {
  const signature = toSignature(usage);
  const records = mirrors.openStep === uuid ? mirrors.openRecords : [];
  beginStep(mirrors, null);
  const same = records.find((record) => record.signature === signature);
  if (same !== undefined) return { responseId: same.responseId, isMirror: true };
  const own = records.findLast(({ responseId }) => responseId !== '');
  if (own !== undefined) return { responseId: uuid, isMirror: true, other: own.signature };
  if (uuid !== null) push(mirrors.endedSteps, { responseId: uuid, signature });
  return { responseId: uuid, isMirror: false };
}

/**
 * Matches a record with a step, either one that has ended with the same counts, else the open one. Requests of the loop
 * have the scope `turn`; those beside it, such as compactions, `session`.
 */
export function matchRecord(mirrors: KimiMirrors, usage: Usage, scope: string | null): MirrorMatch {
  const signature = toSignature(usage);
  const { openStep, openRecords, endedSteps } = mirrors;
  const index = endedSteps.findIndex((step) => step.signature === signature);
  if (index !== -1) {
    const [step] = endedSteps.splice(index, 1);
    return { responseId: step?.responseId ?? null, isMirror: true };
  }
  if (scope === 'session') return { responseId: null, isMirror: false };
  if (openStep !== null) {
    // A step whose answer is thrown away is requested again. Each request has a record.
    const isFirst = openRecords.every(({ responseId }) => responseId === '');
    const key = isFirst ? openStep : `${openStep}/${openRecords.length}`;
    const responseId = scope === 'turn' ? key : '';
    push(openRecords, { responseId, signature });
    return { responseId: responseId || null, isMirror: false };
  }
  const last = scope === 'turn' ? endedSteps.pop() : undefined;
  return { responseId: last?.responseId ?? null, isMirror: last !== undefined, other: last?.signature };
}

function push(all: OpenMirror[], mirror: OpenMirror): void {
  all.push(mirror);
  if (all.length > MAX_OPEN) all.shift();
}

/** The counts of a usage as text. Records and steps name each other in no other way. */
export function toSignature({ inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens }: Usage): string {
  return [inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens].join('.');
}
