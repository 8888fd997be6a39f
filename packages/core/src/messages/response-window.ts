import { createOldestKey } from '../ids/oldest-key.ts';
import { ResumeError } from '../resume-error.ts';
import type { OpenResponse } from '../usage/open-response.ts';
import { isUniqueId, type ResponseIdentity, toResponseKey } from '../usage/response-key.ts';
import { createTextStore } from './text-store.ts';

/** What is open of one API response: the message that it is, and what progress lines tell of it. */
export interface WindowEntry<Message> {
  readonly groupKey: string;
  message: Message | undefined;
  progress: OpenResponse | undefined;
}

export interface ResponseWindowState<Message> {
  /** By group key, the one seen last at the end. Of a checkpoint: all of them; else the ones that are not packed. */
  entries: Map<string, WindowEntry<Message>>;
  /** Group keys of responses that were closed though lines of theirs might follow. */
  closedKeys: Set<string>;
}

/** How entries that have not been seen for long are kept: as texts, which take a quarter of the memory. */
export interface EntryPacking<Message> {
  /** Undefined where the entry must stay as it is. */
  pack(entry: WindowEntry<Message>): string | undefined;
  unpack(groupKey: string, packed: string): WindowEntry<Message>;
}

export interface ResponseWindowOptions {
  sessionId: string;
  /** The entries held, the one seen longest ago being closed before there are more. */
  maxOpenMessages: number;
  /** Of these the ones seen last, which are not packed. */
  maxUnpackedMessages: number;
}

export interface ResponseWindow<Message> {
  /** Under which name the records of the response are grouped within the transcript. */
  toGroupKey(record: ResponseIdentity, lineNumber: number): string;
  get(groupKey: string): WindowEntry<Message> | undefined;
  /** Makes the entry the one seen last, and returns false where the window then had to close the oldest one. */
  keep(entry: WindowEntry<Message>): boolean;
  /** Closes the entry that was seen longest ago; false where there is none. */
  closeOldest(): boolean;
  /**
   * Closes the oldest but for the `count` entries seen last, and remembers its key: a line of it is a ResumeError. False where
   * there is none; the state then holds all that are left, unpacked.
   */
  closeForCheckpoint(count: number): boolean;
}

/**
 * API responses whose later lines are still joined to them. Lines share a response where they share a message id; of
 * ids that are too short to be unique, a differing request id tells two responses apart.
 *
 * Throws ResumeError where a line belongs to a response that `closeForCheckpoint` closed.
 */
export function createResponseWindow<Message extends { response: OpenResponse | undefined }>(
  { sessionId, maxOpenMessages, maxUnpackedMessages }: ResponseWindowOptions,
  close: (entry: WindowEntry<Message>) => void,
  { entries, closedKeys }: ResponseWindowState<Message>,
  packing: EntryPacking<Message>,
): ResponseWindow<Message> {
  let latest: WindowEntry<Message> | undefined;
  /** All of them seen before any of `entries`, and in the same order. */
  const older = new Map<string, WindowEntry<Message> | number>();
  /** Those of the older ones that are packed. */
  let texts = createTextStore();

  const oldestOfEntries = createOldestKey(entries);
  const oldestOfOlder = createOldestKey(older);

  const unpack = (groupKey: string, entry: WindowEntry<Message> | number): WindowEntry<Message> =>
    typeof entry === 'number' ? packing.unpack(groupKey, texts.read(entry)) : entry;

  const find = (groupKey: string): WindowEntry<Message> | undefined => {
    const entry = entries.get(groupKey) ?? older.get(groupKey);
    return entry === undefined ? undefined : unpack(groupKey, entry);
  };

  const packOldest = (): void => {
    const key = oldestOfEntries.take();
    const oldest = key === undefined ? undefined : entries.get(key);
    if (key === undefined || oldest === undefined) return;
    entries.delete(key);
    const text = packing.pack(oldest);
    older.set(key, text === undefined ? oldest : texts.add(text));
    oldestOfOlder.pass();
  };

  const remove = (groupKey: string): void => {
    entries.delete(groupKey);
    const entry = older.get(groupKey);
    older.delete(groupKey);
    if (typeof entry !== 'number') return;
    texts.remove(entry);
    if (texts.isSparse) moveTexts();
  };

  const moveTexts = (): void => {
    const moved = createTextStore();
    for (const [key, entry] of older) if (typeof entry === 'number') older.set(key, moved.add(texts.read(entry)));
    texts = moved;
  };

  const closeOldest = (): string | undefined => {
    const key = (older.size > 0 ? oldestOfOlder : oldestOfEntries).take();
    const oldest = key === undefined ? undefined : find(key);
    if (key === undefined || oldest === undefined) return undefined;
    remove(key);
    close(oldest);
    return key;
  };

  const get = (groupKey: string): WindowEntry<Message> | undefined => {
    if (closedKeys.has(groupKey)) throw new ResumeError('A line belongs to a response from before the checkpoint');
    return find(groupKey);
  };

  return {
    toGroupKey(record, lineNumber) {
      const { messageId, requestId } = record;
      if (messageId === null) return toResponseKey(record, sessionId, lineNumber);
      if (isUniqueId(messageId) || requestId === null) return messageId;
      const open = get(messageId);
      const openRequestId = (open?.message?.response ?? open?.progress)?.facts.request_id ?? requestId;
      return openRequestId === requestId ? messageId : `${messageId}/${requestId}`;
    },
    get,
    keep(entry) {
      if (entry === latest) return true;
      latest = entry;
      remove(entry.groupKey);
      entries.set(entry.groupKey, entry);
      oldestOfEntries.pass();
      while (entries.size > maxUnpackedMessages) packOldest();
      if (entries.size + older.size + closedKeys.size <= maxOpenMessages) return true;
      // All in one go, the oldest would now be closed for good, and a later line of it begin another message.
      if (closedKeys.size > 0) throw new ResumeError('More responses than are kept open');
      return closeOldest() === undefined;
    },
    closeOldest: () => closeOldest() !== undefined,
    closeForCheckpoint(count) {
      const key = entries.size + older.size > count ? closeOldest() : undefined;
      if (key !== undefined) {
        closedKeys.add(key);
        return true;
      }
      const newer = [...entries];
      entries.clear();
      for (const [key, entry] of older) entries.set(key, unpack(key, entry));
      older.clear();
      texts = createTextStore();
      for (const [key, entry] of newer) entries.set(key, entry);
      return false;
    },
  };
}
