import { setTimeout as sleep } from 'node:timers/promises';

interface WaitingCall<Input, Output> {
  input: Input;
  resolve(output: Output): void;
  reject(error: unknown): void;
}

interface GatherOptions {
  /** Maximum number of inputs in one run. */
  maxInputs: number;
  /** The time that a run that is not full waits for further inputs. Default 0. */
  delayMs?: number | undefined;
}

/**
 * Returns a function for one input that batches calls into `run`. Inputs that come while a run is in progress or
 * waiting go into the next one. `run` returns an output for each input, in order. If it fails for several, it is called
 * again for each one separately, so that each input fails only for its own reason.
 */
export function gatherCalls<Input, Output>(
  { maxInputs, delayMs = 0 }: GatherOptions,
  run: (inputs: readonly Input[]) => Promise<readonly Output[]>,
): (input: Input) => Promise<Output> {
  const waiting: WaitingCall<Input, Output>[] = [];
  let isRunning = false;

  const runTogether = async (calls: readonly WaitingCall<Input, Output>[]): Promise<void> => {
    try {
      const outputs = await run(calls.map(({ input }) => input));
      for (const [index, { resolve }] of calls.entries()) resolve(outputs[index] as Output);
    } catch (error) {
      if (calls.length === 1) calls[0]?.reject(error);
      else await Promise.all(calls.map((call) => runTogether([call])));
    }
  };
  const runWaiting = async (): Promise<void> => {
    isRunning = true;
    while (waiting.length > 0) {
      if (delayMs > 0 && waiting.length < maxInputs) await sleep(delayMs);
      await runTogether(waiting.splice(0, maxInputs));
    }
    isRunning = false;
  };
  return (input) =>
    new Promise((resolve, reject) => {
      waiting.push({ input, resolve, reject });
      if (!isRunning) void runWaiting();
    });
}
