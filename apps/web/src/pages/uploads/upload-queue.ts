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
/** Bounds the members of archives that are opened and not sent yet. The last one opened may exceed it. */
const MAX_HELD_BYTES = 16 * 1024 * 1024;
/** Between two states that are shown, because making one takes as long as there are uploads. */
const SHOW_INTERVAL_MS = 100;

/** By id. Those that were chosen first come first. */
const uploads: Upload[] = [];
/** Ids of the uploads to send. Those before `nextIndex` were taken. */
const queue: number[] = [];
let nextIndex = 0;
let leftOut: UploadState['leftOut'] = new Map();
let pauseReason: string | undefined;
/** Settles once everything is opened that was chosen before. */
let opening = Promise.resolve();
let openingCount = 0;
let sendingCount = 0;
let heldBytes = 0;
let continueOpening: (() => void) | undefined;
let pausesInARow = 0;
const attempts = new Map<number, number>();

let shown: UploadState = { uploads: [], leftOut, isOpening: false, pauseReason };
let isShowing = false;
const listeners = new Set<() => void>();

/** Shows all that has changed, soon. */
function show(): void {
  if (isShowing) return;
  isShowing = true;
  setTimeout(() => {
    isShowing = false;
    shown = { uploads: [...uploads], leftOut, isOpening: openingCount > 0, pauseReason };
    for (const listener of listeners) listener();
  }, SHOW_INTERVAL_MS);
}

const isUnderWay = ({ state }: Upload): boolean => state === 'waiting' || state === 'sending';

/** The size of a member of an archive. Files are read from the disk while they are sent. */
const toHeldBytes = (upload: Upload | undefined): number =>
  upload?.opened === undefined || upload.opened.body instanceof File || !isUnderWay(upload) ? 0 : upload.sizeBytes;

function setUpload(upload: Upload): void {
  heldBytes += toHeldBytes(upload) - toHeldBytes(uploads[upload.id]);
  uploads[upload.id] = upload;
  if (heldBytes <= MAX_HELD_BYTES) continueOpening?.();
  show();
}

function updateUpload(id: number, change: Partial<Upload>): void {
  const upload = uploads[id];
  if (upload !== undefined) setUpload({ ...upload, ...change });
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** As it was a moment ago, at most. */
export const readUploads = (): UploadState => shown;

/** Uploads since the page was loaded. They continue while other pages of the dashboard are open. */
export const useUploads = (): UploadState => useSyncExternalStore(subscribe, readUploads);

/** Opens and sends what was dropped. */
export const addDropped = (dropped: readonly (File | FileSystemEntry)[]): Promise<void> => addFiles(listFiles(dropped));

/**
 * Opens and sends the chosen files, once they are listed and what was chosen before is opened. Archives are opened as
 * fast as their members are sent, one at a time, because they are in memory.
 */
export function addFiles(
  chosen: readonly (ChosenFile | RefusedFile)[] | Promise<readonly (ChosenFile | RefusedFile)[]>,
): Promise<void> {
  openingCount++;
  show();
  const opened = opening.then(() => openAll(chosen));
  opening = opened.catch(() => undefined);
  return opened;
}

async function openAll(chosen: Parameters<typeof addFiles>[0]): Promise<void> {
  try {
    for await (const each of openFiles(await chosen)) {
      if ('leftOut' in each) leaveOut(each.leftOut);
      else if ('reason' in each) add({ ...each, sizeBytes: 0, state: 'refused' });
      else add({ path: each.path, sizeBytes: each.body.size, state: 'waiting', opened: each });
      if (heldBytes > MAX_HELD_BYTES)
        await new Promise<void>((resolve) => {
          continueOpening = resolve;
        });
    }
  } finally {
    openingCount--;
    show();
  }
}

function leaveOut(why: LeftOut): void {
  leftOut = new Map(leftOut).set(why, (leftOut.get(why) ?? 0) + 1);
  show();
}

/** Sends a file again that was not taken, or all of them. */
export function sendAgain(id?: number): void {
  for (const each of uploads) {
    if (each.state === 'refused' && each.opened !== undefined && (id === undefined || each.id === id)) {
      setUpload({ ...each, state: 'waiting' });
      queue.push(each.id);
    }
  }
  sendNext();
}

function add(upload: Omit<Upload, 'id'>): void {
  const id = uploads.length;
  setUpload({ ...upload, id });
  if (upload.state === 'waiting') queue.push(id);
  sendNext();
}

function sendNext(): void {
  while (sendingCount < CONCURRENT_UPLOADS && pauseReason === undefined) {
    const upload = uploads[queue[nextIndex] ?? -1];
    if (upload?.opened === undefined) return;
    nextIndex++;
    sendingCount++;
    updateUpload(upload.id, { state: 'sending' });
    void send(upload.id, upload.opened);
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
    // In place of itself or of another that was taken.
    queue[--nextIndex] = id;
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
  if (pauseReason !== undefined) return;
  pausesInARow++;
  pauseReason = reason;
  show();
  setTimeout(
    () => {
      pauseReason = undefined;
      show();
      sendNext();
    },
    Math.min(MAX_PAUSE_MS, Math.max(FIRST_PAUSE_MS, retryAfterMs)),
  );
}

function refuseWaiting(reason: string): void {
  pausesInARow = 0;
  attempts.clear();
  for (const id of queue.splice(nextIndex)) updateUpload(id, { state: 'refused', reason });
}

addEventListener('beforeunload', (event) => {
  if (openingCount > 0 || uploads.some(isUnderWay)) event.preventDefault();
});
