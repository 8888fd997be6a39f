const maxLogTailChars = 2_000;
const maxLogLineChars = 8_192;

/** The last lines of a log, short enough for an error message. */
export function toLogTail(log: string): string {
  return log.trimEnd().slice(-maxLogTailChars);
}

export interface ServerLog {
  append(text: string): void;
  /** The end of all that was appended. */
  tail(): string;
}

/** Hands on complete lines, cutting those above 8,192 characters, and remembers the end of the log. */
export function createServerLog(onLine: (line: string) => void): ServerLog {
  let tail = '';
  let partialLine = '';
  return {
    append(text) {
      tail = (tail + text).slice(-maxLogTailChars);
      const lines = (partialLine + text).split('\n');
      partialLine = (lines.pop() ?? '').slice(0, maxLogLineChars);
      for (const line of lines) onLine(line.slice(0, maxLogLineChars));
    },
    tail: () => toLogTail(tail),
  };
}
