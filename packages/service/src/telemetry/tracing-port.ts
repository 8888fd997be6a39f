export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

export interface Tracing {
  /**
   * Runs `work` in a span, which is a child of the one it is called in. Of an error only the name is told. Neither name
   * nor attributes may be anything of a transcript.
   */
  span<T>(name: string, attributes: SpanAttributes, work: () => Promise<T>): Promise<T>;
  /** Adds to the span that is under way, if there is one. */
  annotate(attributes: SpanAttributes): void;
  /** Sends what is left, for a few seconds at most. */
  close(): Promise<void>;
}
