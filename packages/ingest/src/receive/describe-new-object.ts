import type { ObjectDescription, RawStore } from '@recount/storage';

/**
 * Describes an object that this upload has just made. If that fails, as on a full disk, the upload is refused, and the
 * object is deleted, because without a description and a row it would be an orphan of bytes that the client sends
 * again.
 */
export async function describeNewObject(
  rawStore: Pick<RawStore, 'delete' | 'describe'>,
  objectKey: string,
  description: ObjectDescription,
): Promise<void> {
  try {
    await rawStore.describe(objectKey, description);
  } catch (error) {
    // If it cannot be deleted either, the doctor finds it.
    await rawStore.delete(objectKey).catch(() => undefined);
    throw error;
  }
}
