import type { CodexResponse } from './rollout-usage.ts';

/** Which items belong to a response, and which response the next usage belongs to. */
export interface ResponseState {
  count: number;
  /** Group of the items whose usage has not come yet. */
  open: string | null;
  /** True if a tool has answered one of them. Further items then belong to another response. */
  isAnswered: boolean;
  /** Group of items whose usage never came. */
  abandoned: string | null;
  /** The response that was counted, in versions that write the count before the items. */
  counted: CodexResponse | null;
  countsFirst: boolean | undefined;
}

export function createResponseState(): ResponseState {
  return { count: 0, open: null, isAnswered: false, abandoned: null, counted: null, countsFirst: undefined };
}

/** Closes the open group, whose usage has come, and returns it; null if there is none. */
export function takeGroup(responses: ResponseState): string | null {
  const group = responses.open;
  responses.open = null;
  responses.isAnswered = false;
  return group;
}

/** Gives up waiting for usage of the open group. */
export function abandonGroup(responses: ResponseState): void {
  responses.abandoned = takeGroup(responses) ?? responses.abandoned;
}

/** The group of an item that the model has just written. */
export function joinGroup(responses: ResponseState): string {
  if (responses.open !== null && !responses.isAnswered) return responses.open;
  abandonGroup(responses);
  responses.open = String(++responses.count);
  return responses.open;
}
