import { createOldestKey } from '../ids/oldest-key.ts';
import { ResumeError } from '../resume-error.ts';
import type { OpenResponse } from '../usage/open-response.ts';
import { isUniqueId, type ResponseIdentity, toResponseKey } from '../usage/response-key.ts';

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

/** How entries that have not been seen for long are kept: as texts, which take a fifth of the memory. */
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
   * Closes all but the `count` entries seen last, which the state then holds unpacked, and remembers the keys of the others:
   * a line of one of them is a ResumeError.
   */
  keepLast(count: number): void;
}

/**
 * API responses whose later lines are still joined to them. Lines share a response where they share a message id; of
 * ids that are too short to be unique, a differing request id tells two responses apart.
 *
 * Throws ResumeError where a line belongs to a response that `keepLast` closed.
 */
export function createResponseWindow<Message extends { response: OpenResponse | undefined }>(
  { sessionId, maxOpenMessages, maxUnpackedMessages }: ResponseWindowOptions,
  close: (entry: WindowEntry<Message>) => void,
  { entries, closedKeys }: ResponseWindowState<Message>,
  packing: EntryPacking<Message>,
): ResponseWindow<Message> {
  let latest: WindowEntry<Message> | undefined;
  /** All of them seen before any of `entries`, and in the same order. */
  const older = new Map<string, WindowEntry<Message> | string>();

  const oldestOfEntries = createOldestKey(entries);
  const oldestOfOlder = createOldestKey(older);

  const unpack = (groupKey: string, entry: WindowEntry<Message> | string): WindowEntry<Message> =>
    typeof entry === 'string' ? packing.unpack(groupKey, entry) : entry;

  const find = (groupKey: string): WindowEntry<Message> | undefined => {
    const entry = entries.get(groupKey) ?? older.get(groupKey);
    return entry === undefined ? undefined : unpack(groupKey, entry);
  };

  const packOldest = (): void => {
    const key = oldestOfEntries.take();
    const oldest = key === undefined ? undefined : entries.get(key);
    if (key === undefined || oldest === undefined) return;
    entries.delete(key);
    older.set(key, packing.pack(oldest) ?? oldest);
    oldestOfOlder.pass();
  };

  const closeOldest = (): string | undefined => {
    const key = (older.size > 0 ? oldestOfOlder : oldestOfEntries).take();
    const oldest = key === undefined ? undefined : find(key);
    if (key === undefined || oldest === undefined) return undefined;
    entries.delete(key);
    older.delete(key);
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
      entries.delete(entry.groupKey);
      older.delete(entry.groupKey);
      entries.set(entry.groupKey, entry);
      oldestOfEntries.pass();
      while (entries.size > maxUnpackedMessages) packOldest();
      if (entries.size + older.size + closedKeys.size <= maxOpenMessages) return true;
      // All in one go, the oldest would now be closed for good, and a later line of it begin another message.
      if (closedKeys.size > 0) throw new ResumeError('More responses than are kept open');
      return closeOldest() === undefined;
    },
    closeOldest: () => closeOldest() !== undefined,
    keepLast(count) {
      while (entries.size + older.size > count) {
        const key = closeOldest();
        if (key !== undefined) closedKeys.add(key);
      }
      const newer = [...entries];
      entries.clear();
      for (const [key, entry] of older) entries.set(key, unpack(key, entry));
      older.clear();
      for (const [key, entry] of newer) entries.set(key, entry);
    },
  };
}
