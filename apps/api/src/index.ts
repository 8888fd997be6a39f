export type { ApiApp, ApiDependencies } from './api-dependencies.ts';
export { createApiApp } from './app.ts';
export { type ApiConfig, apiEnvironment, readApiConfig } from './config.ts';
export { type RunningApi, startApi } from './start-api.ts';
export { createWorkspaceApi } from './workspace-api.ts';
