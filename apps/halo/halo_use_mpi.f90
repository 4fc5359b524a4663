! A 1-D halo exchange of a 2-D field, with the module `mpi`.
!
! halo_mpif, halo_use_mpi and halo_f08 make the same calls in the same order through Fortran's three bindings, so a
! report of each should show the same loops:
!
!     set-up       MPI_Bcast
!     TIME LOOP    steps times (argument 1, default 40): MPI_Irecv, MPI_Irecv, MPI_Isend, MPI_Isend, MPI_Waitall;
!                  on every 4th step MPI_Sendrecv and MPI_Allreduce as well
!     wrap-up      rank 0 takes a message from everyone in any order (MPI_ANY_SOURCE); MPI_Reduce; verification
program halo_use_mpi
  use mpi
  implicit none
  integer, parameter :: columns = 256, rows = 128, up = 1, down = 2, ring = 3, result = 4
  double precision, allocatable :: u(:, :), next(:, :)
  double precision :: part, total, at_start, token, passed
  integer :: rank, ranks, below, above, left, right, steps, step, j, ierr
  integer :: requests(4)
  integer :: status(MPI_STATUS_SIZE)
  character(len=16) :: argument

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)

  ! Set-up: rank 0 reads the number of steps; neighbours end at the border, the ring closes.
  steps = 40
  if (rank == 0 .and. command_argument_count() > 0) then
    call get_command_argument(1, argument)
    read (argument, *) steps
  end if
  call MPI_Bcast(steps, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
  below = MPI_PROC_NULL
  above = MPI_PROC_NULL
  if (rank > 0) below = rank - 1
  if (rank < ranks - 1) above = rank + 1
  left = modulo(rank - 1, ranks)
  right = modulo(rank + 1, ranks)
  allocate (u(columns, 0:rows + 1), next(columns, 0:rows + 1))
  u = 1
  u(:, 1:rows/4) = 10 + rank
  part = sum(u(:, 1:rows))
  call MPI_Allreduce(part, at_start, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)

  ! The time loop.
  token = rank
  do step = 1, steps
    call MPI_Irecv(u(1, 0), columns, MPI_DOUBLE_PRECISION, below, up, MPI_COMM_WORLD, requests(1), ierr)
    call MPI_Irecv(u(1, rows + 1), columns, MPI_DOUBLE_PRECISION, above, down, MPI_COMM_WORLD, requests(2), ierr)
    call MPI_Isend(u(1, 1), columns, MPI_DOUBLE_PRECISION, below, down, MPI_COMM_WORLD, requests(3), ierr)
    call MPI_Isend(u(1, rows), columns, MPI_DOUBLE_PRECISION, above, up, MPI_COMM_WORLD, requests(4), ierr)
    call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE, ierr)
    if (below == MPI_PROC_NULL) u(:, 0) = u(:, 1)
    if (above == MPI_PROC_NULL) u(:, rows + 1) = u(:, rows)
    do j = 1, rows
      next(:, j) = 0.5d0*u(:, j) + 0.25d0*(u(:, j - 1) + u(:, j + 1))
    end do
    u(:, 1:rows) = next(:, 1:rows)
    if (mod(step, 4) == 0) then
      call MPI_Sendrecv(token, 1, MPI_DOUBLE_PRECISION, right, ring, passed, 1, MPI_DOUBLE_PRECISION, left, &
                        ring, MPI_COMM_WORLD, status, ierr)
      token = passed
      part = sum(u(:, 1:rows))
      call MPI_Allreduce(part, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
    end if
  end do

  ! Wrap-up: every other rank sends its part to rank 0, which takes them as they come.
  part = sum(u(:, 1:rows))
  if (rank == 0) then
    total = part
    do j = 1, ranks - 1
      call MPI_Recv(part, 1, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, result, MPI_COMM_WORLD, status, ierr)
      total = total + part
    end do
  else
    call MPI_Send(part, 1, MPI_DOUBLE_PRECISION, 0, result, MPI_COMM_WORLD, ierr)
  end if
  call MPI_Reduce(token, passed, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD, ierr)
  if (rank == 0) then
    if (abs(total - at_start) > 1d-9*abs(at_start) .or. nint(passed) /= ranks*(ranks - 1)/2) then
      print *, 'halo_use_mpi: verification FAILED: ', at_start, total, passed
      call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
    end if
    print '(a, i0, a, i0, a)', ' halo_use_mpi: ', ranks, ' ranks, ', steps, ' steps, verification ok'
  end if
  call MPI_Finalize(ierr)
end program halo_use_mpi
