export { decompress } from './decompress.ts';
export { type InputMeasure, measureInput, type ReadSourcesOptions, readSources } from './read-sources.ts';
export { SourceError, type SourceErrorCode } from './source-error.ts';
export type {
  FailedSource,
  SkippedSource,
  SkipReason,
  SourceItem,
  SourceLimits,
  TranscriptSource,
} from './source-item.ts';
export { classifyName } from './source-name.ts';
