export * from './environment.ts';
export * from './service-config.ts';
