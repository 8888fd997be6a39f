import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { GroupedOutcome, JobOutcome, JobQueue } from './job-queue.ts';
import { createTestQueues, type TestQueues, toJob } from './testing/create-test-queues.ts';

let queues: TestQueues;
let sender: JobQueue;
beforeEach(async () => {
  queues = await createTestQueues();
  sender = await queues.open('sender');
});
afterEach(async () => {
  await queues.close();
  expect(queues.errors).toEqual([]);
});

/** A worker that handles single jobs and groups; records the jobs that it gets. */
async function startWorker(handle: () => Promise<'done' | 'handed-back'>) {
  const worker = await queues.open('worker');
  const [alone, grouped] = [[] as string[], [] as string[]];
  await worker.work({ concurrency: 1 }, async ({ transcriptId }): Promise<JobOutcome> => {
    alone.push(transcriptId);
    return { status: await handle() };
  });
  await worker.workSmall({ concurrency: 1 }, async (jobs): Promise<GroupedOutcome[]> => {
    grouped.push(...jobs.map(({ transcriptId }) => transcriptId));
    const outcome = await handle();
    return jobs.map(() => outcome);
  });
  return { worker, alone, grouped };
}

it('gives jobs that a stopping worker hands back to another one immediately, and counts no attempt', async () => {
  await queues.enqueue(sender, toJob('single'), 7);
  await queues.pool.withTransaction((transaction) =>
    sender.enqueueSmall(transaction, [toJob('a'), toJob('b')], { priority: 7 }),
  );
  const { promise: isAborted, resolve: abort } = Promise.withResolvers<void>();
  const first = await startWorker(async () => {
    await isAborted;
    return 'handed-back';
  });
  await vi.waitFor(() => expect([first.alone, first.grouped.toSorted()]).toEqual([['single'], ['a', 'b']]));
  const stopping = first.worker.stop(30_000);
  abort();
  await stopping;
  const second = await startWorker(async () => 'done');
  await vi.waitFor(() => expect([second.alone, second.grouped.toSorted()]).toEqual([['single'], ['a', 'b']]));
  await vi.waitFor(async () => {
    const jobs = await queues.readJobs();
    // While it is stopping, the first worker may take a job again, and hands it back again.
    expect(jobs.length).toBeGreaterThanOrEqual(6);
    expect(jobs).toMatchObject(jobs.map(() => ({ state: 'completed', retry_count: 0, priority: 7 })));
  });
});
