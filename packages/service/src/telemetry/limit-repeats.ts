/** What is logged of something that goes wrong again and again. */
export interface RepeatedReason {
  reason: string;
  /** How often it went wrong since the last line about it, this time not counted; left out for 0. */
  repeated?: number;
}

const DEFAULT_INTERVAL_MS = 30_000;
const MAX_KINDS = 100;
/** Messages of one SQLSTATE differ by the file or the connection that they name. */
const SQLSTATE = /^Postgres error [0-9A-Z]{5}/;

/**
 * Passes a reason on at once, and the same one, or another of the same SQLSTATE, once in `intervalMs` at most: a
 * database that is away or full is noticed many times a second.
 */
export function limitRepeats(
  onReason: (line: RepeatedReason) => void,
  { intervalMs = DEFAULT_INTERVAL_MS, nowMs = () => performance.now() } = {},
): (reason: string) => void {
  const kinds = new Map<string, { saidAtMs: number; repeated: number }>();
  return (reason) => {
    const kind = SQLSTATE.exec(reason)?.[0] ?? reason;
    const known = kinds.get(kind);
    if (known !== undefined && nowMs() - known.saidAtMs < intervalMs) {
      known.repeated += 1;
      return;
    }
    if (kinds.size >= MAX_KINDS) kinds.clear();
    kinds.set(kind, { saidAtMs: nowMs(), repeated: 0 });
    onReason({ reason, ...(known !== undefined && known.repeated > 0 && { repeated: known.repeated }) });
  };
}
