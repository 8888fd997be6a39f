interface WaitingCall<Input, Output> {
  input: Input;
  resolve(output: Output): void;
  reject(error: unknown): void;
}

/**
 * A function for one input that has `run` called for many: inputs that come while a run is under way wait for the next
 * one, of at most `maxInputs`. `run` gives an output for each input, in order. Where it fails for several, it is called
 * for each of them by itself, so that an input fails for its own reason.
 */
export function gatherCalls<Input, Output>(
  maxInputs: number,
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
    while (waiting.length > 0) await runTogether(waiting.splice(0, maxInputs));
    isRunning = false;
  };
  return (input) =>
    new Promise((resolve, reject) => {
      waiting.push({ input, resolve, reject });
      if (!isRunning) void runWaiting();
    });
}
