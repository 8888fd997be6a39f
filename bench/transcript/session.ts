import type { Random } from './random.ts';
import { createTextSources, type TextSource } from './text.ts';

/** One line of a transcript before it is written. */
export type TranscriptRecord = Readonly<Record<string, unknown>>;

/** The length of texts, and the share of lines that are not messages. */
export interface TranscriptShape {
  /** Factor on all text lengths. */
  readonly lengthScale: number;
  /** Share of all lines. */
  readonly metadataShare: number;
  /** Share of metadata lines. */
  readonly progressShare: number;
}

/** Large lines: about 7 KB each. */
const LONG_LINES: TranscriptShape = { lengthScale: 1, metadataShare: 0.35, progressShare: 0.65 };
/**
 * As in real transcripts (generated-shape.integration.test.ts). They have about 3 KB a line, half of the lines progress
 * and the like.
 */
export const REAL_LINES: TranscriptShape = { lengthScale: 0.42, metadataShare: 0.49, progressShare: 0.88 };

/** State that the lines of one session share, and that one line passes to the next. */
export interface Session {
  readonly random: Random;
  readonly sessionId: string;
  readonly cwd: string;
  readonly shape: TranscriptShape;
  /** The text of one line; about one line in eight has characters outside ASCII. */
  text(): TextSource;
  /** Envelope fields that precede a line's own. */
  envelope(): TranscriptRecord;
  /** `uuid` and `timestamp` that close a line; the next envelope points back at it. */
  stamp(): { readonly uuid: string; readonly timestamp: string };
  /** The session clock's time; occasionally a second or two before the previous line's. */
  timestamp(): string;
  uuid(): string;
  /** Such as `msg_01` or `toolu_01` and 22 letters and digits. */
  apiId(prefix: string): string;
  path(): string;
}

const nonAsciiShare = 0.134;
const startMs = Date.UTC(2026, 2, 14, 8, 30);
const idCharacters = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
const folders = ['src/invoices', 'src/ledger', 'src/webhooks', 'test/integration', 'migrations', 'docs'] as const;
const fileNames = ['close-period', 'apply-refund', 'verify-signature', 'allocate-number', 'read-cursor'] as const;

export function createSession(
  source: Random,
  givenSessionId: string | undefined,
  shape: TranscriptShape = LONG_LINES,
): Session {
  const random: Random = {
    ...source,
    length: (median, spread, maximum) => source.length(median * shape.lengthScale, spread, maximum),
  };
  const texts = createTextSources(random);
  const cwd = '/home/dev/tidewater/ledger-service';
  const sessionId = givenSessionId ?? createUuid(random);
  let parentUuid: string | null = null;
  let clockMs = startMs;

  const timestamp = () => {
    clockMs += random.length(900, 1.2, 600_000);
    const lateMs = random.chance(0.03) ? random.integer(1, 2000) : 0;
    return new Date(clockMs - lateMs).toISOString();
  };

  return {
    random,
    sessionId,
    cwd,
    shape,
    text: () => (random.chance(nonAsciiShare) ? texts.unicode : texts.ascii),
    envelope: () => ({
      parentUuid,
      isSidechain: false,
      userType: 'external',
      entrypoint: 'cli',
      cwd,
      sessionId,
      version: '2.1.140',
      gitBranch: 'fix/refund-rounding',
      slug: 'patient-sorting-heron',
    }),
    stamp: () => {
      const uuid = createUuid(random);
      parentUuid = uuid;
      return { uuid, timestamp: timestamp() };
    },
    timestamp,
    uuid: () => createUuid(random),
    apiId: (prefix) => {
      let id = prefix;
      for (let index = 0; index < 22; index += 1) id += idCharacters[random.integer(0, idCharacters.length - 1)];
      return id;
    },
    path: () => `${cwd}/${random.pick(folders)}/${random.pick(fileNames)}.ts`,
  };
}

function createUuid(random: Random): string {
  const hex = () => random.uint32().toString(16).padStart(8, '0');
  const [a, b, c, d] = [hex(), hex(), hex(), hex()];
  return `${a}-${b.slice(0, 4)}-4${b.slice(5)}-a${c.slice(1, 4)}-${c.slice(4)}${d}`;
}
