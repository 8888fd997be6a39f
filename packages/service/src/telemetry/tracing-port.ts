type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

export interface Tracing {
  /**
   * Runs `work` in a span, a child of the current one. Only an error's name is recorded. Neither the name nor the
   * attributes may contain anything from a transcript.
   */
  span<T>(name: string, attributes: SpanAttributes, work: () => Promise<T>): Promise<T>;
  /** Adds attributes to the current span, if there is one. */
  annotate(attributes: SpanAttributes): void;
  /** Sends the remaining spans, for a few seconds at most. */
  close(): Promise<void>;
}
