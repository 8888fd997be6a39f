import type { UploadReceipt } from '@recount/contract';
import { useSyncExternalStore } from 'react';
import { ApiError, request, toUrl } from '../../api/client.ts';
import { queryClient } from '../../api/use-answer.ts';
import type { LeftOut, RefusedFile } from './archive-member.ts';
import { type ChosenFile, type OpenedFile, openFiles } from './open-files.ts';

export interface Upload {
  id: number;
  path: string;
  sizeBytes: number;
  state: 'waiting' | 'sending' | 'done' | 'refused';
  receipt?: UploadReceipt;
  reason?: string;
  /** Undefined if there is nothing that could be sent again. */
  opened?: OpenedFile;
}

export interface UploadState {
  uploads: readonly Upload[];
  /** The number of files in folders and archives were not sent, by reason. */
  leftOut: ReadonlyMap<LeftOut, number>;
  /** True while folders or archives are being read. */
  isOpening: boolean;
}

const CONCURRENT_UPLOADS = 3;

let state: UploadState = { uploads: [], leftOut: new Map(), isOpening: false };
let lastId = 0;
let sendingCount = 0;
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

/** Uploads since the page was loaded. They continue while other pages of the dashboard are open. */
export const useUploads = (): UploadState => useSyncExternalStore(subscribe, () => state);

/** Opens and sends the chosen files. */
export async function addFiles(chosen: readonly (ChosenFile | RefusedFile)[]): Promise<void> {
  update({ isOpening: true });
  try {
    for await (const each of openFiles(chosen)) {
      if ('leftOut' in each) leaveOut(each.leftOut);
      else if ('reason' in each) add({ ...each, sizeBytes: 0, state: 'refused' });
      else add({ path: each.path, sizeBytes: each.body.size, state: 'waiting', opened: each });
    }
  } finally {
    update({ isOpening: false });
  }
}

const leaveOut = (why: LeftOut): void =>
  update({ leftOut: new Map(state.leftOut).set(why, (state.leftOut.get(why) ?? 0) + 1) });

export function sendAgain(id: number): void {
  updateUpload(id, { state: 'waiting' });
  sendNext();
}

function add(upload: Omit<Upload, 'id'>): void {
  update({ uploads: [...state.uploads, { ...upload, id: ++lastId }] });
  sendNext();
}

function sendNext(): void {
  while (sendingCount < CONCURRENT_UPLOADS) {
    const next = state.uploads.find((each) => each.state === 'waiting');
    if (next?.opened === undefined) return;
    sendingCount++;
    updateUpload(next.id, { state: 'sending' });
    void send(next.id, next.opened);
  }
}

async function send(id: number, { path, body, encoding }: OpenedFile): Promise<void> {
  try {
    const response = await request(toUrl('/v1/transcripts', {}, { path }), {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/x-ndjson', ...(encoding && { 'content-encoding': encoding }) },
    });
    updateUpload(id, { state: 'done', receipt: (await response.json()) as UploadReceipt });
  } catch (error) {
    const { problem } = error instanceof ApiError ? error : {};
    const reason = problem?.detail ?? problem?.title ?? (error as Error).message;
    updateUpload(id, { state: 'refused', reason });
  } finally {
    sendingCount--;
    sendNext();
    if (sendingCount === 0) void queryClient.invalidateQueries({ queryKey: ['/v1/ingestion'] });
  }
}

addEventListener('beforeunload', (event) => {
  if (state.uploads.some((each) => each.state === 'waiting' || each.state === 'sending')) event.preventDefault();
});
