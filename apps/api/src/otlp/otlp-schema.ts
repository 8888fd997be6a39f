/**
 * The fields of OTLP that are read, with the numbers of https://github.com/open-telemetry/opentelemetry-proto 1.7.
 * Decoders skip all others. Values that are lists or objects are among them, because they hold texts and can be nested
 * without end.
 */
export const OTLP_SCHEMA = `
syntax = "proto3";

message AnyValue {
  oneof value { string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4; }
}
message KeyValue { string key = 1; AnyValue value = 2; }
message Resource { repeated KeyValue attributes = 1; }

message LogsRequest { repeated ResourceLogs resource_logs = 1; }
message ResourceLogs { Resource resource = 1; repeated ScopeLogs scope_logs = 2; }
message ScopeLogs { repeated LogRecord log_records = 2; }
message LogRecord {
  fixed64 time_unix_nano = 1;
  AnyValue body = 5;
  repeated KeyValue attributes = 6;
  fixed64 observed_time_unix_nano = 11;
  string event_name = 12;
}

message MetricsRequest { repeated ResourceMetrics resource_metrics = 1; }
message ResourceMetrics { Resource resource = 1; repeated ScopeMetrics scope_metrics = 2; }
message ScopeMetrics { repeated Metric metrics = 2; }
message Metric { string name = 1; Sum sum = 7; }
message Sum { repeated NumberDataPoint data_points = 1; AggregationTemporality aggregation_temporality = 2; }
enum AggregationTemporality {
  AGGREGATION_TEMPORALITY_UNSPECIFIED = 0;
  AGGREGATION_TEMPORALITY_DELTA = 1;
  AGGREGATION_TEMPORALITY_CUMULATIVE = 2;
}
message NumberDataPoint {
  fixed64 start_time_unix_nano = 2;
  fixed64 time_unix_nano = 3;
  oneof value { double as_double = 4; sfixed64 as_int = 6; }
  repeated KeyValue attributes = 7;
}

message TracesRequest { repeated ResourceSpans resource_spans = 1; }
message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; }
message ScopeSpans { repeated Span spans = 2; }
message Span { string name = 5; fixed64 end_time_unix_nano = 8; repeated KeyValue attributes = 9; }

// The same form for all three; only the name of the number in JSON differs.
message ExportResponse { PartialSuccess partial_success = 1; }
message PartialSuccess { int64 rejected = 1; string error_message = 2; }
// google.rpc.Status
message Status { int32 code = 1; string message = 2; }
`;

interface AnyValue {
  stringValue?: string;
  boolValue?: boolean;
  intValue?: number;
  doubleValue?: number;
}
export interface KeyValue {
  key?: string;
  value?: AnyValue;
}
interface Resource {
  attributes?: KeyValue[];
}
interface LogRecord {
  timeUnixNano?: number;
  observedTimeUnixNano?: number;
  body?: AnyValue;
  eventName?: string;
  attributes?: KeyValue[];
}
export interface NumberDataPoint {
  startTimeUnixNano?: number;
  timeUnixNano?: number;
  asDouble?: number;
  asInt?: number;
  attributes?: KeyValue[];
}
interface Metric {
  name?: string;
  sum?: { dataPoints?: NumberDataPoint[]; aggregationTemporality?: number };
}
interface Span {
  name?: string;
  endTimeUnixNano?: number;
  attributes?: KeyValue[];
}

/** Messages of the schema as plain objects. Missing fields are absent, and 64-bit integers are numbers. */
export interface OtlpMessages {
  LogsRequest: { resourceLogs?: { resource?: Resource; scopeLogs?: { logRecords?: LogRecord[] }[] }[] };
  MetricsRequest: { resourceMetrics?: { resource?: Resource; scopeMetrics?: { metrics?: Metric[] }[] }[] };
  TracesRequest: { resourceSpans?: { resource?: Resource; scopeSpans?: { spans?: Span[] }[] }[] };
  ExportResponse: { partialSuccess?: { rejected: number; errorMessage: string } };
  Status: { code: number; message: string };
}
