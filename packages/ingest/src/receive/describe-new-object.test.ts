import { expect, it } from 'vitest';
import { describeNewObject } from './describe-new-object.ts';

const full = async (): Promise<never> => {
  throw new Error('the disk is full');
};

it('leaves nothing behind if there is no room for the description', async () => {
  const deleted: string[] = [];
  const remove = async (key: string): Promise<void> => void deleted.push(key);
  await expect(describeNewObject({ describe: full, delete: remove }, 'key', {})).rejects.toThrow('the disk is full');
  expect(deleted).toEqual(['key']);
});

it('says why the description failed, even if the object cannot be deleted', async () => {
  const remove = async (): Promise<never> => {
    throw new Error('the store is gone');
  };
  await expect(describeNewObject({ describe: full, delete: remove }, 'key', {})).rejects.toThrow('the disk is full');
});
