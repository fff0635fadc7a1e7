/* See home_shared.h. */
#include "home_shared.h"

#include "base/clock.h"
#include "home_files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* How long a process may take to open a pool, which reserves all its room, while others wait. */
enum { MOST_WAIT_MS = 120000, LOOK_EVERY_US = 5000 };

void oap_home_set_shared(oap_home_shape *shape, uint64_t part) {
  shape->fixed_part = part;
  shape->members = OAP_MOST_MEMBERS;
  /* What a lock in the file is made of, only the library knows. */
#ifdef __GLIBC__
  confstr(_CS_GNU_LIBC_VERSION, shape->locks, sizeof(shape->locks));
#else
  strncpy(shape->locks, "not glibc", sizeof(shape->locks) - 1);
#endif
}

int oap_home_wait_at_door(oap_home *home, int directory) {
  int door = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (door < 0) {
    return -errno;
  }
  uint64_t end = oap_milliseconds() + MOST_WAIT_MS;
  while (flock(door, LOCK_EX | LOCK_NB) != 0) {
    int error = errno == EWOULDBLOCK ? ETIMEDOUT : errno;
    if (error != EINTR && (error != ETIMEDOUT || oap_milliseconds() >= end)) {
      close(door);
      return -error;
    }
    usleep(LOOK_EVERY_US);
  }
  home->door = door;
  home->is_at_door = true;
  return 0;
}

void oap_home_leave_door(oap_home *home) {
  if (home->is_at_door) {
    flock(home->door, LOCK_UN); /* a child process that is about to start may have it, too */
    close(home->door);
    home->is_at_door = false;
  }
}

int oap_home_enter(oap_home *home) {
  oap_home_header *header = home->header;
  home->self = OAP_MOST_MEMBERS;
  if (!home->is_joined) {
    atomic_store(&header->members, 0);
    for (uint32_t i = 0; i < OAP_MOST_MEMBERS; i++) {
      atomic_store(&header->is_member[i], 0);
    }
  }
  for (uint32_t i = 0; i < OAP_MOST_MEMBERS; i++) {
    if (oap_home_lock_member(home->meta, i)) {
      home->self = i;
      home->origin.member = i;
      atomic_store(&header->is_member[i], 1);
      if (atomic_load(&header->members) <= i) { /* nobody else comes in meanwhile */
        atomic_store(&header->members, i + 1);
      }
      return 0;
    }
  }
  return -EUSERS;
}

void oap_home_leave(oap_home *home) {
  if (home->is_shared && home->self < OAP_MOST_MEMBERS) {
    if (home->is_swept) { /* else others do it */
      atomic_store(&home->header->is_member[home->self], 0);
    }
    oap_home_unlock_member(home->meta, home->self);
  }
}

void oap_home_let_in(oap_home *home) {
  if (!home->is_joined) {
    oap_home_share(home->meta);
  }
  oap_home_leave_door(home);
}

bool oap_home_is_gone(oap_home *home, uint32_t member) {
  return member != home->self && atomic_load(&home->header->is_member[member]) != 0 &&
         oap_home_lock_member(home->meta, member);
}

void oap_home_has_swept(oap_home *home, uint32_t member, bool is_done) {
  if (is_done) {
    atomic_store(&home->header->is_member[member], 0);
  }
  oap_home_unlock_member(home->meta, member);
}
