export interface StallWatch {
  /** The agent has just written something. */
  touch(): void;
  stop(): void;
}

/** Reports once when nothing came for `timeoutMs`, and again when something comes. */
export function createStallWatch(
  timeoutMs: number,
  { onStall, onResume }: { onStall: () => void; onResume: (silentMs: number) => void },
): StallWatch {
  let lastActivityMs = performance.now();
  let isStalled = false;
  const timer = setTimeout(() => {
    isStalled = true;
    onStall();
  }, timeoutMs);
  timer.unref();
  return {
    touch() {
      const nowMs = performance.now();
      if (isStalled) onResume(nowMs - lastActivityMs);
      isStalled = false;
      lastActivityMs = nowMs;
      timer.refresh();
    },
    stop: () => clearTimeout(timer),
  };
}
