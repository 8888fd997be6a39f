export { readWorkerConfig, type WorkerConfig } from './config.ts';
export { type RunningWorker, startWorker } from './start-worker.ts';
