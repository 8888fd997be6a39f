/** Tokens of one answer. The four classes add up to all tokens of a request; `reasoning` and `cacheWrite1h` are parts. */
export interface Tokens {
  /** Input that was neither read from a cache nor written to one. */
  input: number;
  cacheRead: number;
  cacheWrite: number;
  /** Part of `cacheWrite` with a lifetime of an hour. */
  cacheWrite1h: number;
  output: number;
  /** Part of `output`. */
  reasoning: number;
}

export interface ToolUse {
  name: string;
  /** Group of tools that it belongs to, which the Responses API states apart from the name. */
  namespace?: string;
  /** A text for tools that take no JSON, which only the Responses API has. */
  input: Record<string, unknown> | string;
}

/** The fault of an answer (an error status, a closed connection, or silence after the first words). */
export type Fault = 'rate-limit' | 'overloaded' | 'cut' | 'hang';

/** The model's answer to one request. */
export interface Step {
  text?: string;
  calls?: readonly ToolUse[];
  fault?: Fault;
  /** Need not be asked for, because not all programs try again. */
  isOptional?: boolean;
  /** Replaces single counts of the answer, for example to fill the context. */
  tokens?: Partial<Tokens>;
}

/** A tool call that an answer contained. */
export interface AnsweredCall extends ToolUse {
  id: string;
}

export type WireName = 'anthropic' | 'responses' | 'chat' | 'gemini';

/** The end of an exchange. `cut` and `hung` answers were sent in part, so the program never saw their usage. */
export type Outcome = 'answered' | 'refused' | 'cut' | 'hung';

/** One request for an answer and what the server answered. This is the truth that recount must find. */
export interface Exchange {
  /** From 1. */
  number: number;
  wire: WireName;
  outcome: Outcome;
  /** The marker of the prompt that was answered; undefined for a request that no step was written for. */
  marker: string | undefined;
  /** The program asked for a summary of the conversation. */
  isSummary: boolean;
  /** As the answer names it. */
  model: string;
  responseId: string;
  text: string;
  calls: AnsweredCall[];
  tokens: Tokens;
  /** Names of the tools that the request offered. */
  offeredTools: string[];
  serviceTier: string | undefined;
  speed: string | undefined;
}

/** The parts that the server reads in a request, whatever its wire. */
export interface ModelRequest {
  model: string;
  isStream: boolean;
  /** Texts of the user's messages in order, without results of tools. */
  userTexts: string[];
  offeredTools: string[];
  serviceTier?: string | undefined;
  speed?: string | undefined;
}

/** An answer as a wire encodes it. */
export interface Reply {
  responseId: string;
  model: string;
  text: string;
  calls: readonly AnsweredCall[];
  tokens: Tokens;
  serviceTier?: string | undefined;
  speed?: string | undefined;
}

/** One HTTP API in the form that its clients expect. */
export interface Wire {
  name: WireName;
  readRequest(body: Record<string, unknown>, url: URL): ModelRequest;
  /** The whole answer as one JSON value. */
  toBody(reply: Reply): unknown;
  /** Server-sent events in order: `head` comes before the text, `tail` after it. */
  toEvents(reply: Reply): { head: string[]; tail: string[] };
  /** Body of an error answer. */
  toError(status: number, message: string): unknown;
  newId(seed: string): { responseId: string; callId(index: number): string };
}

export const toEvent = (data: unknown, name?: string): string =>
  `${name === undefined ? '' : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`;
