! Positions in lists of requests, which Fortran counts from 1: MPI_Waitany, Testany, Waitsome and Testsome, with mpi_f08.
! Each rank sends itself messages; the receive at position i has tag i.
program positions
   use mpi_f08
   implicit none
   integer, parameter :: many = 4
   type(MPI_Request) :: receives(many), sends(many)
   type(MPI_Status) :: status, statuses(many)
   integer :: in(many), out(many), indices(many), i, turn, left, index, done, rank, first(4)
   logical :: flag

   call MPI_Init()
   call MPI_Comm_rank(MPI_COMM_WORLD, rank)
   out = [(10*i, i=1, many)]
   do turn = 1, 4
      do i = 1, many
         call MPI_Irecv(in(i), 1, MPI_INTEGER, MPI_ANY_SOURCE, i, MPI_COMM_WORLD, receives(i))
      end do
      ! The last is there first.
      do i = many, 1, -1
         call MPI_Isend(out(i), 1, MPI_INTEGER, rank, i, MPI_COMM_WORLD, sends(i))
      end do
      left = many
      do while (left > 0)
         flag = .true.
         done = 1
         select case (turn)
         case (1)
            call MPI_Waitany(many, receives, indices(1), status)
            statuses(1) = status
         case (2)
            call MPI_Testany(many, receives, indices(1), flag, status)
            statuses(1) = status
         case (3)
            call MPI_Waitsome(many, receives, done, indices, statuses)
         case default
            call MPI_Testsome(many, receives, done, indices, statuses)
         end select
         if (.not. flag) done = 0
         do i = 1, done
            index = indices(i)
            ! What this library counts from, told by the tag.
            first(turn) = index - statuses(i)%MPI_TAG + 1
            if (first(turn) < 0 .or. first(turn) > 1) error stop "a position that belongs to another message"
         end do
         left = left - done
      end do
      call MPI_Waitall(many, sends, MPI_STATUSES_IGNORE)
      if (any(in /= out)) error stop "another number was received"
   end do
   if (rank == 0) print '("positions count from", 4i2)', first
   call MPI_Finalize()
end program positions
