import { ProblemError } from '../problems/problem-error.ts';

export interface UploadSlots {
  /** Runs one upload. Throws ProblemError `too-many-uploads` where all slots are taken. */
  run<T>(upload: () => Promise<T>): Promise<T>;
}

const RETRY_AFTER_SECONDS = 2;

/** Each upload under way has buffers of its own: their number bounds the memory of the process. */
export function createUploadSlots(maxConcurrentUploads: number): UploadSlots {
  let taken = 0;
  return {
    async run(upload) {
      if (taken >= maxConcurrentUploads) {
        const detail = `At most ${maxConcurrentUploads} uploads at once; try again`;
        throw new ProblemError('too-many-uploads', detail, { headers: { 'retry-after': String(RETRY_AFTER_SECONDS) } });
      }
      taken += 1;
      try {
        return await upload();
      } finally {
        taken -= 1;
      }
    },
  };
}
