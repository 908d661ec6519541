/* MPI for one process; taken where no other mpi.h is found. Messages go from rank 0 to itself. */
#ifndef OPWRIGHT_EMULATION_MPI_H
#define OPWRIGHT_EMULATION_MPI_H

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <vector>

/* A number of a type is its size: no message has more than bytes. */
typedef int MPI_Datatype;
#define MPI_DATATYPE_NULL ((MPI_Datatype)0)
#define MPI_BYTE ((MPI_Datatype)1)
#define MPI_CHAR ((MPI_Datatype)1)
#define MPI_SIGNED_CHAR ((MPI_Datatype)1)
#define MPI_UNSIGNED_CHAR ((MPI_Datatype)1)
#define MPI_C_BOOL ((MPI_Datatype)1)
#define MPI_INT8_T ((MPI_Datatype)1)
#define MPI_UINT8_T ((MPI_Datatype)1)
#define MPI_SHORT ((MPI_Datatype)2)
#define MPI_UNSIGNED_SHORT ((MPI_Datatype)2)
#define MPI_INT ((MPI_Datatype)4)
#define MPI_UNSIGNED ((MPI_Datatype)4)
#define MPI_INT32_T ((MPI_Datatype)4)
#define MPI_UINT32_T ((MPI_Datatype)4)
#define MPI_FLOAT ((MPI_Datatype)4)
#define MPI_LONG ((MPI_Datatype)sizeof(long))
#define MPI_UNSIGNED_LONG ((MPI_Datatype)sizeof(long))
#define MPI_LONG_LONG ((MPI_Datatype)8)
#define MPI_LONG_LONG_INT ((MPI_Datatype)8)
#define MPI_UNSIGNED_LONG_LONG ((MPI_Datatype)8)
#define MPI_INT64_T ((MPI_Datatype)8)
#define MPI_UINT64_T ((MPI_Datatype)8)
#define MPI_DOUBLE ((MPI_Datatype)8)
#define MPI_DOUBLE_INT ((MPI_Datatype)16)

typedef int MPI_Comm;
typedef int MPI_Op;
typedef int MPI_Info;
typedef int MPI_Request;
typedef struct { int MPI_SOURCE, MPI_TAG, MPI_ERROR, count; } MPI_Status;
enum { MPI_SUM = 1, MPI_MAX, MPI_MIN, MPI_PROD, MPI_LAND, MPI_LOR, MPI_BAND, MPI_BOR, MPI_MAXLOC, MPI_MINLOC };
enum { MPI_SUCCESS = 0, MPI_ERR_COMM = 5, MPI_ERR_RANK = 6, MPI_ERR_TRUNCATE = 15 };
enum { MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE };
#define MPI_COMM_WORLD ((MPI_Comm)1)
#define MPI_COMM_SELF ((MPI_Comm)2)
#define MPI_COMM_NULL ((MPI_Comm)0)
#define MPI_COMM_TYPE_SHARED 1
#define MPI_INFO_NULL ((MPI_Info)0)
#define MPI_IN_PLACE ((void *)-1)
#define MPI_STATUS_IGNORE ((MPI_Status *)0)
#define MPI_STATUSES_IGNORE ((MPI_Status *)0)
#define MPI_REQUEST_NULL ((MPI_Request)0)
#define MPI_ANY_SOURCE (-1)
#define MPI_ANY_TAG (-1)
#define MPI_PROC_NULL (-2)
#define MPI_MAX_PROCESSOR_NAME 256
#define MPI_MAX_ERROR_STRING 256

namespace opwright {
namespace emulation {

struct Message {
  int tag;
  std::vector<char> bytes;
};
struct Receive {
  MPI_Request request;
  void *into;
  size_t bytes;
  int tag;
};
inline std::list<Message> messages;
inline std::list<Receive> receives; /* that nothing has come for yet */
inline MPI_Request last_request = 0;

[[noreturn]] inline void mpi_stop(const char *name, const char *why) {
  std::fflush(stdout);
  std::fprintf(stderr, "opwright: error: %s: %s; MPI has one process here\n", name, why);
  std::exit(1);
}
inline int mpi_copy(const void *from, void *to, size_t count, MPI_Datatype type) {
  if (from != MPI_IN_PLACE && to != MPI_IN_PLACE && from != to && count) std::memmove(to, from, count * size_t(type));
  return MPI_SUCCESS;
}
inline bool mpi_taken(const Receive &receive, MPI_Status *status) {
  for (auto at = messages.begin(); at != messages.end(); ++at) {
    if (receive.tag != MPI_ANY_TAG && receive.tag != at->tag) continue;
    if (at->bytes.size() > receive.bytes) mpi_stop("MPI_Recv", "a message is longer than its buffer");
    std::memcpy(receive.into, at->bytes.data(), at->bytes.size());
    if (status) *status = {0, at->tag, MPI_SUCCESS, int(at->bytes.size())};
    messages.erase(at);
    return true;
  }
  return false;
}
inline int mpi_send(const char *name, const void *from, int count, MPI_Datatype type, int to, int tag) {
  if (to == MPI_PROC_NULL) return MPI_SUCCESS;
  if (to) mpi_stop(name, "a message to another rank than 0");
  const char *first = static_cast<const char *>(from);
  messages.push_back({tag, {first, first + size_t(count) * size_t(type)}});
  for (auto at = receives.begin(); at != receives.end(); ++at)
    if (mpi_taken(*at, nullptr)) return receives.erase(at), MPI_SUCCESS;
  return MPI_SUCCESS;
}

}  // namespace emulation
}  // namespace opwright

inline int MPI_Init(int *, char ***) { return MPI_SUCCESS; }
inline int MPI_Init_thread(int *, char ***, int wanted, int *given) { return *given = wanted, MPI_SUCCESS; }
inline int MPI_Initialized(int *is) { return *is = 1, MPI_SUCCESS; }
inline int MPI_Finalize() { return MPI_SUCCESS; }
inline int MPI_Abort(MPI_Comm, int status) { std::exit(status ? status : 1); }
inline int MPI_Comm_rank(MPI_Comm, int *rank) { return *rank = 0, MPI_SUCCESS; }
inline int MPI_Comm_size(MPI_Comm, int *size) { return *size = 1, MPI_SUCCESS; }
inline int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *made) { return *made = comm, MPI_SUCCESS; }
inline int MPI_Comm_split(MPI_Comm comm, int, int, MPI_Comm *made) { return *made = comm, MPI_SUCCESS; }
inline int MPI_Comm_split_type(MPI_Comm comm, int, int, MPI_Info, MPI_Comm *made) { return *made = comm, MPI_SUCCESS; }
inline int MPI_Comm_free(MPI_Comm *comm) { return *comm = MPI_COMM_NULL, MPI_SUCCESS; }
inline int MPI_Barrier(MPI_Comm) { return MPI_SUCCESS; }
inline double MPI_Wtime() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
inline int MPI_Get_processor_name(char *name, int *length) {
  std::strcpy(name, "emulated");
  return *length = 8, MPI_SUCCESS;
}
inline int MPI_Error_string(int code, char *text, int *length) {
  *length = std::snprintf(text, MPI_MAX_ERROR_STRING, "MPI error %d", code);
  return MPI_SUCCESS;
}
inline int MPI_Bcast(void *, int, MPI_Datatype, int, MPI_Comm) { return MPI_SUCCESS; }
inline int MPI_Reduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op, int, MPI_Comm) {
  return ::opwright::emulation::mpi_copy(from, to, size_t(count), type);
}
inline int MPI_Allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op, MPI_Comm) {
  return ::opwright::emulation::mpi_copy(from, to, size_t(count), type);
}
inline int MPI_Scan(const void *from, void *to, int count, MPI_Datatype type, MPI_Op, MPI_Comm) {
  return ::opwright::emulation::mpi_copy(from, to, size_t(count), type);
}
inline int MPI_Gather(const void *from, int count, MPI_Datatype type, void *to, int, MPI_Datatype, int, MPI_Comm) {
  return ::opwright::emulation::mpi_copy(from, to, size_t(count), type);
}
inline int MPI_Allgather(const void *from, int count, MPI_Datatype type, void *to, int, MPI_Datatype, MPI_Comm) {
  return ::opwright::emulation::mpi_copy(from, to, size_t(count), type);
}
inline int MPI_Scatter(const void *from, int count, MPI_Datatype type, void *to, int, MPI_Datatype, int, MPI_Comm) {
  return ::opwright::emulation::mpi_copy(from, to, size_t(count), type);
}
inline int MPI_Alltoall(const void *from, int count, MPI_Datatype type, void *to, int, MPI_Datatype, MPI_Comm) {
  return ::opwright::emulation::mpi_copy(from, to, size_t(count), type);
}
inline int MPI_Send(const void *from, int count, MPI_Datatype type, int to, int tag, MPI_Comm) {
  return ::opwright::emulation::mpi_send("MPI_Send", from, count, type, to, tag);
}
inline int MPI_Isend(const void *from, int count, MPI_Datatype type, int to, int tag, MPI_Comm, MPI_Request *request) {
  *request = MPI_REQUEST_NULL;
  return ::opwright::emulation::mpi_send("MPI_Isend", from, count, type, to, tag);
}
inline int MPI_Irecv(void *into, int count, MPI_Datatype type, int from, int tag, MPI_Comm, MPI_Request *request) {
  using namespace ::opwright::emulation;
  *request = MPI_REQUEST_NULL;
  if (from == MPI_PROC_NULL) return MPI_SUCCESS;
  if (from > 0) mpi_stop("MPI_Irecv", "a message from another rank than 0");
  const Receive receive{++last_request, into, size_t(count) * size_t(type), tag};
  if (mpi_taken(receive, nullptr)) return MPI_SUCCESS;
  *request = receive.request;
  receives.push_back(receive);
  return MPI_SUCCESS;
}
inline int MPI_Wait(MPI_Request *request, MPI_Status *) {
  using namespace ::opwright::emulation;
  for (const Receive &each : receives)
    if (*request && each.request == *request) mpi_stop("MPI_Wait", "a message that nobody sends");
  return *request = MPI_REQUEST_NULL, MPI_SUCCESS;
}
inline int MPI_Waitall(int count, MPI_Request *requests, MPI_Status *) {
  for (int i = 0; i < count; ++i) MPI_Wait(requests + i, MPI_STATUS_IGNORE);
  return MPI_SUCCESS;
}
inline int MPI_Recv(void *into, int count, MPI_Datatype type, int from, int tag, MPI_Comm, MPI_Status *status) {
  using namespace ::opwright::emulation;
  if (from == MPI_PROC_NULL) return MPI_SUCCESS;
  if (from > 0) mpi_stop("MPI_Recv", "a message from another rank than 0");
  if (!mpi_taken({0, into, size_t(count) * size_t(type), tag}, status))
    mpi_stop("MPI_Recv", "a message that nobody has sent");
  return MPI_SUCCESS;
}
inline int MPI_Sendrecv(const void *out, int out_count, MPI_Datatype out_type, int to, int out_tag, void *in,
                        int in_count, MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm, MPI_Status *status) {
  MPI_Send(out, out_count, out_type, to, out_tag, comm);
  return MPI_Recv(in, in_count, in_type, from, in_tag, comm, status);
}
inline int MPI_Get_count(const MPI_Status *status, MPI_Datatype type, int *count) {
  return *count = type ? status->count / type : 0, MPI_SUCCESS;
}

#endif
