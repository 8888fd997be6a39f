/** Calls `run` for every input, at most `limit` at a time. Returns the outcomes in the order of the inputs. */
export async function settleWithLimit<Input, Output>(
  inputs: readonly Input[],
  limit: number,
  run: (input: Input) => Promise<Output>,
): Promise<PromiseSettledResult<Output>[]> {
  const outcomes: PromiseSettledResult<Output>[] = [];
  const entries = inputs.entries();
  const takeInputs = async (): Promise<void> => {
    for (const [index, input] of entries) {
      const [outcome] = await Promise.allSettled([run(input)]);
      outcomes[index] = outcome;
    }
  };
  await Promise.all(Array.from({ length: limit }, takeInputs));
  return outcomes;
}
