import { expect, it } from 'vitest';
import { putOff } from './put-off.ts';
import { ingestQueueOptions, MAX_OUTAGE_HAND_BACKS } from './queues.ts';

type Boss = Parameters<typeof putOff>[0];

const JOB = { id: 'job', data: {}, priority: 0, retryCount: 2, retryLimit: 4, state: 'active' };

/** A queue whose database fails that many times. */
function createBoss(outages: number) {
  const calls: string[] = [];
  const call = (name: string) => async () => {
    calls.push(name);
    if (calls.length <= outages) throw new Error('connect ECONNREFUSED');
    return [JOB];
  };
  const boss = { fail: call('fail'), findJobs: call('findJobs'), send: call('send'), update: call('update') };
  return { calls, boss: boss as unknown as Boss };
}

const put = (boss: Boss, isStopping: () => boolean) =>
  putOff(boss, JOB as Parameters<typeof putOff>[1], { reason: 'away', isShared: false }, isStopping);

it('waits for an unavailable database', async () => {
  const { boss, calls } = createBoss(2);
  expect(await put(boss, () => false)).toBe('failed');
  expect(calls).toEqual(['findJobs', 'findJobs', 'findJobs', 'fail', 'update']);
});

it('gives up if the worker is to stop', async () => {
  const { boss, calls } = createBoss(Number.POSITIVE_INFINITY);
  await expect(put(boss, () => calls.length === 2)).rejects.toThrow('ECONNREFUSED');
  expect(calls).toHaveLength(2);
});

it('tries five times, twenty more in outages, after 2 seconds at first and 5 minutes at last, and misses 10 s of heartbeats', () => {
  expect(ingestQueueOptions).toMatchObject({
    retryLimit: 4,
    retryDelay: 2,
    retryBackoff: true,
    retryDelayMax: 300,
    heartbeatSeconds: 10,
  });
  expect(MAX_OUTAGE_HAND_BACKS).toBe(20);
});
