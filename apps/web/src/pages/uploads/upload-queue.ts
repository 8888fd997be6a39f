import type { UploadReceipt } from '@recount/contract';
import { useSyncExternalStore } from 'react';
import { queryClient } from '../../server-data/use-answer.ts';
import type { LeftOut, RefusedFile } from './archive-member.ts';
import { type ChosenFile, listFiles, type OpenedFile, openFiles } from './open-files.ts';
import { type SendFailure, sendFile } from './send-file.ts';

export interface Upload {
  id: number;
  path: string;
  sizeBytes: number;
  state: 'waiting' | 'sending' | 'done' | 'refused';
  receipt?: UploadReceipt;
  reason?: string;
  /** Undefined if there is nothing that could be sent again. */
  opened?: OpenedFile | undefined;
}

export interface UploadState {
  uploads: readonly Upload[];
  /** The number of files in folders and archives were not sent, by reason. */
  leftOut: ReadonlyMap<LeftOut, number>;
  /** True while folders or archives are being read. */
  isOpening: boolean;
  /** Set while nothing is sent: the reason. The queue continues by itself. */
  pauseReason: string | undefined;
}

const CONCURRENT_UPLOADS = 3;
/** Pauses without a success in between, until the files that wait are refused, and attempts for one file. */
const MAX_PAUSES = 6;
const FIRST_PAUSE_MS = 1000;
const MAX_PAUSE_MS = 60_000;

let state: UploadState = { uploads: [], leftOut: new Map(), isOpening: false, pauseReason: undefined };
let lastId = 0;
let openingCount = 0;
let sendingCount = 0;
let pausesInARow = 0;
const attempts = new Map<number, number>();
const listeners = new Set<() => void>();

function update(change: Partial<UploadState>): void {
  state = { ...state, ...change };
  for (const listener of listeners) listener();
}

const updateUpload = (id: number, change: Partial<Upload>): void =>
  update({ uploads: state.uploads.map((each) => (each.id === id ? { ...each, ...change } : each)) });

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const readUploads = (): UploadState => state;

/** Uploads since the page was loaded. They continue while other pages of the dashboard are open. */
export const useUploads = (): UploadState => useSyncExternalStore(subscribe, readUploads);

/** Opens and sends what was dropped. */
export const addDropped = (dropped: readonly (File | FileSystemEntry)[]): Promise<void> => addFiles(listFiles(dropped));

/** Opens and sends the chosen files, once they are listed. */
export async function addFiles(
  chosen: readonly (ChosenFile | RefusedFile)[] | Promise<readonly (ChosenFile | RefusedFile)[]>,
): Promise<void> {
  openingCount++;
  update({ isOpening: true });
  try {
    for await (const each of openFiles(await chosen)) {
      if ('leftOut' in each) leaveOut(each.leftOut);
      else if ('reason' in each) add({ ...each, sizeBytes: 0, state: 'refused' });
      else add({ path: each.path, sizeBytes: each.body.size, state: 'waiting', opened: each });
    }
  } finally {
    openingCount--;
    update({ isOpening: openingCount > 0 });
  }
}

const leaveOut = (why: LeftOut): void =>
  update({ leftOut: new Map(state.leftOut).set(why, (state.leftOut.get(why) ?? 0) + 1) });

/** Sends a file again that was not taken, or all of them. */
export function sendAgain(id?: number): void {
  const isChosen = (each: Upload): boolean =>
    each.state === 'refused' && each.opened !== undefined && (id === undefined || each.id === id);
  update({ uploads: state.uploads.map((each) => (isChosen(each) ? { ...each, state: 'waiting' } : each)) });
  sendNext();
}

function add(upload: Omit<Upload, 'id'>): void {
  update({ uploads: [...state.uploads, { ...upload, id: ++lastId }] });
  sendNext();
}

function sendNext(): void {
  while (sendingCount < CONCURRENT_UPLOADS && state.pauseReason === undefined) {
    const next = state.uploads.find((each) => each.state === 'waiting');
    if (next?.opened === undefined) return;
    sendingCount++;
    updateUpload(next.id, { state: 'sending' });
    void send(next.id, next.opened);
  }
}

async function send(id: number, opened: OpenedFile): Promise<void> {
  const sent = await sendFile(opened);
  sendingCount--;
  if ('receipt' in sent) {
    pausesInARow = 0;
    attempts.delete(id);
    // Members of archives would stay in memory.
    updateUpload(id, { state: 'done', receipt: sent.receipt, opened: undefined });
  } else takeFailure(id, sent);
  sendNext();
  if (sendingCount === 0) void queryClient.invalidateQueries({ queryKey: ['/v1/ingestion'] });
}

function takeFailure(id: number, { reason, helps, retryAfterMs }: SendFailure): void {
  const attempt = (attempts.get(id) ?? 0) + 1;
  if (helps === 'a pause' && attempt < MAX_PAUSES && pausesInARow < MAX_PAUSES) {
    attempts.set(id, attempt);
    updateUpload(id, { state: 'waiting' });
    pause(reason, retryAfterMs);
    return;
  }
  attempts.delete(id);
  updateUpload(id, { state: 'refused', reason, ...(helps === 'choosing again' && { opened: undefined }) });
  // The others would be refused as well, one after the other.
  if (helps === 'a person' || (helps === 'a pause' && pausesInARow >= MAX_PAUSES - 1)) refuseWaiting(reason);
}

/** The first of the files that are being sent pauses the queue for all. */
function pause(reason: string, retryAfterMs = FIRST_PAUSE_MS * 2 ** pausesInARow): void {
  if (state.pauseReason !== undefined) return;
  pausesInARow++;
  update({ pauseReason: reason });
  setTimeout(
    () => {
      update({ pauseReason: undefined });
      sendNext();
    },
    Math.min(MAX_PAUSE_MS, Math.max(FIRST_PAUSE_MS, retryAfterMs)),
  );
}

function refuseWaiting(reason: string): void {
  pausesInARow = 0;
  attempts.clear();
  update({
    uploads: state.uploads.map((each) => (each.state === 'waiting' ? { ...each, state: 'refused', reason } : each)),
  });
}

addEventListener('beforeunload', (event) => {
  const isUnderWay = state.uploads.some((each) => each.state === 'waiting' || each.state === 'sending');
  if (isUnderWay || state.isOpening) event.preventDefault();
});
