import { isUniqueId } from '../records/fields.ts';
import type { TranscriptMessage } from '../records/rows.ts';
import { type OpenResponse, type ResponseIdentity, toResponseKey } from './open-response.ts';
import { createRecentKeys, type RecentKeys } from './recent-keys.ts';
import { ResumeError } from './resume-error.ts';

/** Closed responses whose late lines are recognised; takes about 16 MB. */
const MAX_CLOSED_KEYS = 200_000;

/** A message that may get more lines. */
export interface OpenMessage {
  row: TranscriptMessage;
  /** Undefined if later lines cannot change it. */
  response: OpenResponse | undefined;
  blockCount: number;
  lineCount: number;
  /** Ids of the tool uses in it. */
  toolUseIds: string[];
  /** A usage record of its group is still to name its response. */
  isUnnamed: boolean;
}

/** A message, or an API response without one, that the window holds. */
export interface HeldItem {
  /** Index among all items of the transcript, from 0. */
  position: number;
  /** Shared by the records of one API response; null if no later record can belong to the item. */
  groupKey: string | null;
  message: OpenMessage | undefined;
  /** The facts of progress lines about the response. */
  progress: OpenResponse | undefined;
}

export interface ResponseWindowState {
  /** In the order of their beginnings. */
  held: HeldItem[];
  /** Items that have begun so far. */
  itemCount: number;
  /** Group keys of responses that left the window. */
  closedKeys: Set<string>;
  /** Group keys of responses closed early for a checkpoint, which would otherwise still be held; oldest first. */
  closedEarly: { groupKey: string; position: number }[];
}

export function createResponseWindowState(): ResponseWindowState {
  return { held: [], itemCount: 0, closedKeys: new Set(), closedEarly: [] };
}

/** The place of a record (a held item, a new one, or a response that has left the window). */
export interface Grouping {
  groupKey: string | null;
  item: HeldItem | undefined;
  isLate: boolean;
}

interface ResponseWindowOptions {
  sessionId: string;
  /** Messages, and responses without one, in the window. */
  maxOpenMessages: number;
  /** Called when the first key is forgotten. A later line of its response would be counted as a second response. */
  onKeyForgotten: () => void;
}

/**
 * Holds the latest messages and API responses until no more lines of the same responses are expected; `close` then gets
 * each once, in the order of their beginnings. Lines belong to the same response if they share a message id. If the id
 * is too short to be unique, different request ids tell two responses apart.
 */
export class ResponseWindow {
  readonly #sessionId: string;
  readonly #maxOpenMessages: number;
  readonly #onKeyForgotten: () => void;
  readonly #close: (item: HeldItem) => void;
  readonly #state: ResponseWindowState;
  readonly #held: HeldItem[];
  readonly #closedKeys: Set<string>;
  readonly #closedEarly: { groupKey: string; position: number }[];
  readonly #open = new Map<string, HeldItem>();
  readonly #earlyKeys: Set<string>;
  readonly #rememberedKeys: RecentKeys;

  constructor(
    { sessionId, maxOpenMessages, onKeyForgotten }: ResponseWindowOptions,
    close: (item: HeldItem) => void,
    state: ResponseWindowState,
  ) {
    this.#sessionId = sessionId;
    this.#maxOpenMessages = maxOpenMessages;
    this.#onKeyForgotten = onKeyForgotten;
    this.#close = close;
    this.#state = state;
    this.#held = state.held;
    this.#closedKeys = state.closedKeys;
    this.#closedEarly = state.closedEarly;
    for (const item of this.#held) if (item.groupKey !== null) this.#open.set(item.groupKey, item);
    this.#earlyKeys = new Set(this.#closedEarly.map(({ groupKey }) => groupKey));
    this.#rememberedKeys = createRecentKeys(MAX_CLOSED_KEYS, this.#closedKeys);
  }

  /** Throws ResumeError if the record belongs to a response that `closeForCheckpoint` closed. */
  find(record: ResponseIdentity, lineNumber: number): Grouping {
    return this.#findKey(this.#toGroupKey(record, lineNumber), record.responseId);
  }

  /** The same for the messages of a group whose response has no name yet. */
  findGroup(group: string): Grouping {
    return this.#findKey(`group:${group}`, null);
  }

  /** Changes the key of the item for later records; null if there is none. */
  rename(item: HeldItem, groupKey: string | null): void {
    if (item.groupKey !== null) this.#open.delete(item.groupKey);
    item.groupKey = groupKey;
    if (groupKey !== null) this.#open.set(groupKey, item);
  }

  /** Adds an item as the latest; closes the oldest one if there would be more than `maxOpenMessages`. */
  hold(begun: Omit<HeldItem, 'position'>): HeldItem {
    const item = { ...begun, position: this.#state.itemCount++ };
    this.#held.push(item);
    if (item.groupKey !== null) this.#open.set(item.groupKey, item);
    this.#closeBeyondBound();
    return item;
  }

  /** The item with this position; undefined if it is closed. */
  at(position: number): HeldItem | undefined {
    return this.#held[position - (this.#held[0]?.position ?? 0)];
  }

  /** Closes the oldest item; false if there is none. */
  closeOldest(): boolean {
    return this.#takeOldest() !== undefined;
  }

  /** Closes the oldest item unless only `count` are left; returns whether it did. */
  closeForCheckpoint(count: number): boolean {
    const item = this.#held.length > count ? this.#takeOldest() : undefined;
    for (const groupKey of toKeys(item)) {
      this.#closedEarly.push({ groupKey, position: item?.position ?? 0 });
      this.#earlyKeys.add(groupKey);
    }
    return item !== undefined;
  }

  #remember(key: string): void {
    if (this.#closedKeys.size === MAX_CLOSED_KEYS) this.#onKeyForgotten();
    this.#rememberedKeys.add(key);
  }

  #takeOldest(): HeldItem | undefined {
    const item = this.#held.shift();
    if (item === undefined) return undefined;
    if (item.groupKey !== null) this.#open.delete(item.groupKey);
    this.#close(item);
    return item;
  }

  #closeBeyondBound(): void {
    const isBeyond = (item: { position: number } | undefined): boolean =>
      item !== undefined && this.#state.itemCount - item.position > this.#maxOpenMessages;
    while (isBeyond(this.#closedEarly[0])) {
      const groupKey = this.#closedEarly.shift()?.groupKey ?? '';
      this.#earlyKeys.delete(groupKey);
      this.#remember(groupKey);
    }
    while (isBeyond(this.#held[0])) for (const key of toKeys(this.#takeOldest())) this.#remember(key);
  }

  #toGroupKey(record: ResponseIdentity, lineNumber: number): string {
    const { responseId, requestId } = record;
    if (responseId === null) return toResponseKey(record, this.#sessionId, lineNumber);
    if (isUniqueId(responseId) || requestId === null) return responseId;
    if (this.#closedKeys.has(responseId)) return `${responseId}/${requestId}`;
    const openRequestId = requestIdOf(this.#open.get(responseId)) ?? requestId;
    return openRequestId === requestId ? responseId : `${responseId}/${requestId}`;
  }

  #findKey(groupKey: string, responseId: string | null): Grouping {
    const item = this.#open.get(groupKey);
    if (item !== undefined) return { groupKey, item, isLate: false };
    if (this.#earlyKeys.has(groupKey) || (responseId !== null && this.#earlyKeys.has(responseId))) {
      throw new ResumeError('A line belongs to a response from before the checkpoint');
    }
    return { groupKey, item: undefined, isLate: this.#closedKeys.has(groupKey) };
  }
}

/** The keys that later records of the item's response would look it up by. */
function toKeys(item: HeldItem | undefined): string[] {
  if (item === undefined || item.groupKey === null) return [];
  const { groupKey } = item;
  const requestId = requestIdOf(item);
  const responseId = factsOf(item)?.provider_message_id;
  const isShort = groupKey === responseId && requestId !== null && !isUniqueId(groupKey);
  return isShort ? [groupKey, `${groupKey}/${requestId}`] : [groupKey];
}

const factsOf = ({ message, progress }: HeldItem) => (message?.response ?? progress)?.facts;

const requestIdOf = (item: HeldItem | undefined): string | null =>
  (item === undefined ? undefined : factsOf(item)?.request_id) ?? null;
