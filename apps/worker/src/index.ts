export { readWorkerConfig, type WorkerConfig, workerEnvironment } from './config.ts';
export { type RunningWorker, startWorker } from './start-worker.ts';
