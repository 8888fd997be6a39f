/** The log entry about a failure that keeps repeating. */
export interface RepeatedReason {
  reason: string;
  /** Failures since the last line about it, not counting this one; left out if 0. */
  repeated?: number;
}

const DEFAULT_INTERVAL_MS = 30_000;
const MAX_KINDS = 100;
/** Messages with the same SQLSTATE may name different files or connections. */
const SQLSTATE = /^Postgres error [0-9A-Z]{5}/;

/**
 * Passes a reason on immediately, but the same one, or another with the same SQLSTATE, at most once in `intervalMs`. A
 * Database that is down or full is noticed many times a second.
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
