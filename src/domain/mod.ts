/**
 * The words of Covey as types: requests, engines, decisions, members, faults,
 * and the ports that rooms meet through. Pure: nothing here touches the world.
 *
 * @module
 */
export {
  CAPABILITIES,
  type Capability,
  MODEL_FEATURES,
  type ModelFeature,
} from "./capability.ts";
export {
  type ClusterConfig,
  Secret,
  type StaticPeer,
} from "./cluster_config.ts";
export type { CopyHelp } from "./copy_help.ts";
export { API_CERTIFICATE_FILE, LOCK_FILE } from "./data_folder.ts";
export type {
  ActualRecord,
  AttemptOutcome,
  AttemptRecord,
  CandidateRecord,
  DecisionRecord,
  Terms,
} from "./decision.ts";
export type {
  Attempt,
  Availability,
  Engine,
  EngineAnswer,
  EngineView,
  Eviction,
  Hop,
  LoadState,
  Offer,
  OfferIndex,
  QueueReport,
  Refusal,
  Resume,
  StartResult,
  StatedOffers,
} from "./engine.ts";
export {
  Fault,
  type FaultCode,
  type FaultDetail,
  faultOf,
  faultOfDecision,
} from "./fault.ts";
export {
  type Health,
  type HealthState,
  type Liveness,
  stepHealth,
  UNMET,
  withConditions,
} from "./health.ts";
export type { ApiExposure, Cluster, ClusterAction, Host } from "./host.ts";
export {
  type AttemptId,
  attemptIdOf,
  type Branded,
  type DecisionId,
  type NodeId,
  parseAttemptId,
  parseDecisionId,
  parseNodeId,
} from "./identifier.ts";
export { parseExactJson, parseObject } from "./exact_json.ts";
export { isJsonObject, type JsonObject, type JsonValue } from "./json.ts";
export type { Log, LogFields, LogLevel } from "./log.ts";
export { bytesToStayFree } from "./disk_room.ts";
export type {
  PackAllies,
  PackArchive,
  PackCare,
  PackChoice,
  PackGiver,
  PackShelf,
  PackView,
} from "./engine_packs.ts";
export {
  type Conditions,
  type Machine,
  type MachineReading,
  type ServedCallers,
  type SpeedPrior,
  type Tier,
  UNKNOWN_MACHINE,
} from "./machine.ts";
export {
  CHUNK_BYTES,
  type Derivation,
  type FileDigest,
  type FileOrigin,
  type ManifestFile,
  type ModelManifest,
  originTextOf,
  rootTextOf,
} from "./manifest.ts";
export type { MemberState, MemberView } from "./member.ts";
export { distinctNames, findMembers, type NamedMember } from "./member_name.ts";
export type {
  Counter,
  GaugeReader,
  Histogram,
  Labels,
  Metrics,
} from "./metrics.ts";
export type {
  CompanionPlace,
  InvalidModel,
  LocalModel,
  ModelInventory,
  ModelSet,
  ModelShape,
  ModelShelf,
  ModelWeights,
} from "./model.ts";
export type { ModelCare, ModelCheck, PartialFiles } from "./model_care.ts";
export type {
  ConversionOutcome,
  ConversionRequest,
  ConversionView,
  MadeWeights,
  ModelConversions,
} from "./model_conversions.ts";
export type { ModelForecast, ModelForecasts } from "./model_forecast.ts";
export type { ImportOutcome, ModelImports } from "./model_imports.ts";
export type {
  ModelPulls,
  PullOutcome,
  PullRequest,
  PullView,
} from "./model_pulls.ts";
export type {
  AllyProgress,
  PullAllies,
  PullCopyWant,
  PullLease,
  PullOffer,
  PullTurn,
  PullWant,
} from "./pull_allies.ts";
export { PullPaused } from "./pull_allies.ts";
export type { PartPlace, PullParts } from "./pull_parts.ts";
export type {
  EngineInputs,
  OfferInputs,
  PlacementInputs,
} from "./placement_inputs.ts";
export { type PieceSource, sourceOf, streamOf } from "./piece_source.ts";
export { escapeUnprintable } from "./printable.ts";
export { BroughtOffers, OfferScan, OfferTable } from "./offer_index.ts";
export { ageLoadState, ageQueue } from "./queue_aging.ts";
export { QueueRoom } from "./queue_room.ts";
export { StatedView, type StatedViewOptions } from "./stated_view.ts";
export { parseDuration } from "./duration.ts";
export { parseRetryAfter } from "./retry_after.ts";
export type { Rates } from "./rates.ts";
export {
  type MemoryNeed,
  type Misfit,
  neededMemory,
  type Residency,
} from "./memory_fit.ts";
export {
  chooseTest,
  probeEngines,
  type TestableEngine,
  type TestChoice,
  testLimitMs,
  type TestMeans,
  testPauseMs,
  type TestReport,
} from "./test_task.ts";
export {
  type CardRoom,
  fitsInto,
  type MemoryRoom,
  type MemorySplit,
  roomOnCards,
  splitMemory,
} from "./memory_split.ts";
export type { Upkeep } from "./upkeep.ts";
export type { InferenceRequest } from "./request.ts";
export type {
  BreakerState,
  EngineStanding,
  ModelListing,
  NodeStanding,
  PlacedOffer,
  RoutedAnswer,
  Router,
  UnloadOutcome,
  WorkReport,
} from "./router.ts";
export {
  EVERY_NETWORK,
  isInNetwork,
  type Network,
  parseNetwork,
} from "./network.ts";
export {
  formatSource,
  parseSource,
  type Source,
  SOURCE_FORMS,
} from "./source.ts";
export { SourcedAnswer } from "./sourced_answer.ts";
export { nearestName } from "./spelling.ts";
