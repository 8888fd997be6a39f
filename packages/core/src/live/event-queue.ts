/** Hands values to an async iterator, in order, as it asks for them. */
export interface EventQueue<T> {
  push(value: T): void;
  /** No more will come. */
  end(): void;
  /** Values that wait to be asked for. */
  readonly size: number;
  readonly iterator: AsyncIterableIterator<T>;
}

/** `onShift` is called after a value was taken, `onReturn` when the iterator is left early. */
export function createEventQueue<T>(onShift: () => void, onReturn: () => void): EventQueue<T> {
  let values: T[] = [];
  let start = 0;
  let isEnded = false;
  let wake: () => void = () => {};

  const shift = (): T | undefined => {
    const value = values[start++];
    // Moved now and then: `shift` of a long array would move it every time.
    if (start * 2 > values.length) {
      values = values.slice(start);
      start = 0;
    }
    return value;
  };

  async function* iterate(): AsyncGenerator<T> {
    try {
      for (;;) {
        while (values.length > start) {
          const value = shift() as T;
          onShift();
          yield value;
        }
        if (isEnded) return;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    } finally {
      onReturn();
    }
  }

  return {
    push(value) {
      values.push(value);
      wake();
    },
    end() {
      isEnded = true;
      wake();
    },
    get size() {
      return values.length - start;
    },
    iterator: iterate(),
  };
}
